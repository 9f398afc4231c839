// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/placement/candidates.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// Chooses replicas on as few physical GPUs as possible. Where one is enough, the fullest
// that is; where not, the emptiest are used up first, and the rest goes to the fullest that
// can take it. GPUs that the container has something of already come before all others.
std::vector<std::string_view> pick_packed(const Offer& offer, const Choice& choice);

}  // namespace tranche::core
