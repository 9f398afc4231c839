// SPDX-License-Identifier: Apache-2.0
#include "core/placement/one_device.h"

#include <algorithm>
#include <tuple>

#include "core/placement/free_shares.h"

namespace tranche::core {

std::vector<std::string_view> pick_from_one_device(const Offer& offer, const Choice& choice) {
  std::vector<std::vector<std::string_view>> free = free_shares(offer.devices.size(), choice);
  const bool emptiest = offer.terms.placement == SharePlacement::kSpread ||
                        offer.terms.placement == SharePlacement::kDistributed;
  const auto rank = [&](std::size_t i) {
    const bool is_decided = std::ranges::find(choice.decided, i) != choice.decided.end();
    const bool is_enough = free[i].size() >= choice.needed;
    const auto size = static_cast<std::int64_t>(free[i].size());
    return std::tuple(!is_decided, !is_enough, is_enough && !emptiest ? size : -size, i);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < free.size(); ++i) {
    if (rank(i) < rank(best)) best = i;
  }
  if (free.empty()) return {};
  free[best].resize(std::min(free[best].size(), choice.needed));
  return std::move(free[best]);
}

}  // namespace tranche::core
