// SPDX-License-Identifier: Apache-2.0
#include "sim/library/branch_limit.h"

namespace tranche::sim {

unsigned branch_limit() { return TRANCHE_SIM_BRANCH_LIMIT; }

}  // namespace tranche::sim
