// SPDX-License-Identifier: Apache-2.0
//
// Reads the two sections of NVIDIA's plugin about replicas: sharing.timeSlicing and sharing.mps.
// Pure.
#pragma once

#include <string_view>
#include <vector>

#include "core/sharing/policy.h"
#include "os/settings/document.h"
#include "os/settings/file_problems.h"
#include "os/settings/rows.h"

namespace tranche::programs {

enum class ReplicaKind { kTimeSlicing, kMps };

// Without rows: the section is missing or has problems.
struct ReplicatedSection : Rows<Replication> {
  ReplicaKind kind = ReplicaKind::kTimeSlicing;
  bool fail_requests_greater_than_one = false;
  unsigned fail_requests_line = 0;  // 0: not given
};

// `sharing` is the section that both are in.
ReplicatedSection read_replications(const ConfigNode& sharing, ReplicaKind kind,
                                    FileProblems& problems);

// "sharing.timeSlicing" or "sharing.mps".
std::string_view section_path(ReplicaKind kind);

// The name that the kubelet sees.
const ResourceName& offered_as(const Replication& row);

}  // namespace tranche::programs
