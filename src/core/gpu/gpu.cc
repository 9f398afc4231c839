// SPDX-License-Identifier: Apache-2.0
#include "core/gpu/gpu.h"

#include "base/text.h"

namespace tranche::core {

std::string Health::reason() const { return join(troubles, "; "); }

}  // namespace tranche::core
