// SPDX-License-Identifier: Apache-2.0
#include "placement/prefer.h"

#include <algorithm>
#include <unordered_set>

#include "placement/aligned.h"
#include "placement/one_device.h"
#include "placement/pack.h"
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

// Whole devices that another name has something of: the kubelet was not told
// in time.
void leave_out_covered(const Offer& offer, const OfferRoom& room, Choice& choice,
                       std::vector<Candidate>& others) {
  std::erase_if(choice.candidates, [&](const Candidate& candidate) {
    const bool covered = !offer.devices[candidate.device].replicas &&
                         candidate.device < room.size() && room[candidate.device].free == 0;
    if (covered) others.push_back(candidate);
    return covered;
  });
}

std::vector<std::string_view> pick(const Offer& offer, const Topology& topology, Choice choice) {
  if (offer.terms.one_device) return pick_from_one_device(offer, choice);
  if (all_whole_gpus(offer)) return pick_aligned(offer, topology, std::move(choice));
  if (offer.terms.placement == SharePlacement::kPack && !offer.terms.distinct_gpus) {
    return pick_packed(offer, choice);
  }
  return pick_shared(offer, choice);
}

}  // namespace

std::vector<std::string_view> prefer(const Offer& offer, const OfferRoom& room,
                                     const Topology& topology, const Wish& wish) {
  std::vector<std::string_view> chosen = wish.must_include;
  if (chosen.size() >= wish.size) return chosen;
  Pool pool = sort_out(offer, wish);

  std::vector<std::size_t> decided;
  for (const std::string_view id : wish.must_include) {
    if (const OfferedDevice* device = offer.find(id)) {
      decided.push_back(static_cast<std::size_t>(device - offer.devices.data()));
    }
  }
  Choice choice{std::move(pool.healthy), std::move(decided), wish.size - chosen.size(), {}};
  for (const DeviceRoom& device : room) choice.room.push_back(device.free);
  leave_out_covered(offer, room, choice, pool.others);
  const std::vector<std::string_view> picked = pick(offer, topology, std::move(choice));
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
