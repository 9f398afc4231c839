// SPDX-License-Identifier: Apache-2.0
#include "placement/prefer.h"

#include <algorithm>
#include <unordered_set>

#include "placement/aligned.h"
#include "placement/spread.h"

namespace tranche {
namespace {

bool all_whole_gpus(const Offer& offer) {
  return std::ranges::none_of(offer.devices, [](const OfferedDevice& device) {
    return device.is_mig() || device.replicas.has_value();
  });
}

// The wish's free shares that are ours, told apart by health. The kubelet's
// view lags behind: what it thinks free may have failed or gone a moment ago.
struct Pool {
  std::vector<Candidate> healthy;
  std::vector<Candidate> others;        // unhealthy: only where nothing else is left
  std::vector<std::string_view> alien;  // not ours: the very last resort
};

Pool sort_out(const Offer& offer, const Wish& wish) {
  const std::unordered_set<std::string_view> decided(wish.must_include.begin(),
                                                     wish.must_include.end());
  Pool pool;
  pool.healthy.reserve(wish.available.size());
  for (const std::string_view id : wish.available) {
    if (!decided.empty() && decided.contains(id)) continue;
    const LocatedShare share = offer.locate(id);
    if (share.device == nullptr) {
      pool.alien.push_back(id);
    } else {
      const auto device = static_cast<std::uint32_t>(share.device - offer.devices.data());
      (share.device->health.ok() ? pool.healthy : pool.others)
          .push_back({id, device, share.replica});
    }
  }
  return pool;
}

}  // namespace

std::vector<std::string_view> prefer(const Offer& offer, const Topology& topology,
                                     SharedPlacement shared, const Wish& wish) {
  std::vector<std::string_view> chosen = wish.must_include;
  if (chosen.size() >= wish.size) return chosen;
  Pool pool = sort_out(offer, wish);

  std::vector<std::size_t> decided;
  for (const std::string_view id : wish.must_include) {
    if (const OfferedDevice* device = offer.find(id)) {
      decided.push_back(static_cast<std::size_t>(device - offer.devices.data()));
    }
  }
  const std::size_t needed = wish.size - chosen.size();
  const std::vector<std::string_view> picked =
      all_whole_gpus(offer)
          ? pick_aligned(offer, topology, {std::move(pool.healthy), std::move(decided), needed})
          : pick_shared(offer, shared, {std::move(pool.healthy), std::move(decided), needed});
  chosen.insert(chosen.end(), picked.begin(), picked.end());

  for (const Candidate& candidate : pool.others) {
    if (chosen.size() < wish.size) chosen.push_back(candidate.id);
  }
  for (const std::string_view id : pool.alien) {
    if (chosen.size() < wish.size) chosen.push_back(id);
  }
  return chosen;
}

}  // namespace tranche
