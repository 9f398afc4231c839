// SPDX-License-Identifier: Apache-2.0
//
// Reads the sections of the file that are more than single values: `resources`, `sharing` and
// `tranche.policies`. shape.h has checked their form; ignores what did not fit. Pure.
#pragma once

#include <vector>

#include "core/sharing/policy.h"
#include "os/settings/document.h"
#include "os/settings/file_problems.h"
#include "programs/settings/policy_reader.h"
#include "programs/settings/replication_reader.h"

namespace tranche::programs {

// The sharing sections of a file, with line numbers.
struct SharingSections {
  Rows<NameRule> gpu_names;
  Rows<NameRule> mig_names;
  ReplicatedSection replicated;
  Rows<ResourcePolicy> policies;
};

SharingSections read_sharing(const ConfigNode& root, FileProblems& problems);

}  // namespace tranche::programs
