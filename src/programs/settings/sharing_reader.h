// SPDX-License-Identifier: Apache-2.0
//
// The sections of the file that are more than single values: `resources`,
// `sharing` and `tranche.policies`. The file's form has been checked before (shape.h); what did not
// fit there is passed over here. Pure.
#pragma once

#include <vector>

#include "core/sharing/policy.h"
#include "os/settings/document.h"
#include "os/settings/file_problems.h"
#include "programs/settings/policy_reader.h"
#include "programs/settings/replication_reader.h"

namespace tranche::programs {

// What a file says about sharing, with the lines for "where did this come
// from".
struct SharingSections {
  Rows<NameRule> gpu_names;
  Rows<NameRule> mig_names;
  ReplicatedSection replicated;
  Rows<ResourcePolicy> policies;
};

SharingSections read_sharing(const ConfigNode& root, FileProblems& problems);

}  // namespace tranche::programs
