// SPDX-License-Identifier: Apache-2.0
//
// Reads the rows of tranche.policies. Pure.
#pragma once

#include "core/sharing/policy.h"
#include "os/settings/rows.h"

namespace tranche::programs {

// `own` is the section `tranche`.
Rows<ResourcePolicy> read_policies(const ConfigNode& own, FileProblems& problems);

}  // namespace tranche::programs
