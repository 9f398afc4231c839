// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tranche::testbed::sim {

// The newest driver branch that this build of the library is able to be. The
// one for old drivers is built from the same sources with fewer exports.
unsigned branch_limit();

}  // namespace tranche::testbed::sim
