// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu.h"

#include "base/text.h"

namespace tranche {

std::string Health::reason() const { return join(troubles, "; "); }

}  // namespace tranche
