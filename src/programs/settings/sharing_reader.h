// SPDX-License-Identifier: Apache-2.0
//
// The sections of the file that are more than single values: `resources`,
// `sharing` and `tranche.policies`. The file's form has been checked before (shape.h); what did not
// fit there is passed over here. Pure.
#pragma once

#include <vector>

#include "config/document.h"
#include "config/file_problems.h"
#include "config/policy_reader.h"
#include "config/replication_reader.h"
#include "sharing/policy.h"

namespace tranche {

// What a file says about sharing, with the lines for "where did this come
// from".
struct SharingSections {
  std::vector<NameRule> gpu_names;
  std::vector<unsigned> gpu_name_lines;
  std::vector<NameRule> mig_names;
  std::vector<unsigned> mig_name_lines;
  ReplicatedSection replicated;
  PolicySection policies;
};

SharingSections read_sharing(const ConfigNode& root, FileProblems& problems);

}  // namespace tranche
