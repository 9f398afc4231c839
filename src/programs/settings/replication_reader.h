// SPDX-License-Identifier: Apache-2.0
//
// The two sections of the file in which NVIDIA's plugin is told of replicas:
// sharing.timeSlicing and sharing.mps. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/file_problems.h"
#include "sharing/policy.h"

namespace tranche {

enum class ReplicaKind { kTimeSlicing, kMps };

struct ReplicatedSection {
  ReplicaKind kind = ReplicaKind::kTimeSlicing;
  std::vector<Replication> rows;  // empty: the section is not there, or has problems
  std::vector<unsigned> lines;
  bool fail_requests_greater_than_one = false;
  unsigned fail_requests_line = 0;  // 0: not given
};

// `sharing` is the section that both are in.
ReplicatedSection read_replications(const ConfigNode& sharing, ReplicaKind kind,
                                    FileProblems& problems);

// "sharing.timeSlicing" or "sharing.mps".
std::string_view section_path(ReplicaKind kind);

// The name that the kubelet gets to see.
const ResourceName& offered_as(const Replication& row);

}  // namespace tranche
