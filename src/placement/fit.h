// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "ledger/coverage.h"
#include "sharing/catalog.h"

namespace tranche {

// Whether these shares together are what the terms let one container have. The
// kubelet decides which shares it asks for; where it had no choice left, or did
// not ask, they can be any. The error says what is free where, if that is known
// (`room` not null). Ids that are not the offer's are no matter here.
Status fits(const Offer& offer, const OfferRoom* room, const std::vector<std::string_view>& shares);

}  // namespace tranche
