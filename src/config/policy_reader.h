// SPDX-License-Identifier: Apache-2.0
//
// The rows of tranche.policies: which devices are offered how. Pure.
#pragma once

#include <vector>

#include "config/document.h"
#include "config/file_problems.h"
#include "sharing/policy.h"

namespace tranche {

struct PolicySection {
  std::vector<ResourcePolicy> rows;
  std::vector<unsigned> lines;
};

// `own` is the section `tranche`.
PolicySection read_policies(const ConfigNode& own, FileProblems& problems);

}  // namespace tranche
