// SPDX-License-Identifier: Apache-2.0
#include "testbed/driver/branch_limit.h"

namespace tranche::testbed::sim {

unsigned branch_limit() { return TRANCHE_SIM_BRANCH_LIMIT; }

}  // namespace tranche::testbed::sim
