// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/ledger/coverage.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// Whether one container may have these shares together under the terms. The kubelet chooses the
// shares; if it had no choice left, or did not ask for our preference, they can be any. The error
// says what is free where, if that is known (`room` not null). Ignores ids that are not the
// offer's.
Status fits(const Offer& offer, const OfferRoom* room, const std::vector<std::string_view>& shares);

}  // namespace tranche::core
