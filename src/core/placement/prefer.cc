// SPDX-License-Identifier: Apache-2.0
#include "core/placement/prefer.h"

#include <algorithm>
#include <unordered_set>

#include "core/placement/aligned.h"
#include "core/placement/one_device.h"
#include "core/placement/pack.h"
#include "core/placement/spread.h"

namespace tranche::core {
namespace {

bool all_whole_gpus(const Offer& offer) {
  return std::ranges::none_of(offer.devices, [](const OfferedDevice& device) {
    return device.is_mig() || device.replicas.has_value();
  });
}

// The request's free shares that are ours, by health. The kubelet's view lags behind: a
// share that it considers free may just have failed or been removed.
struct Pool {
  std::vector<Candidate> healthy;
  std::vector<Candidate> others;        // unhealthy: only where nothing else is left
  std::vector<std::string_view> alien;  // not ours: the very last resort
};

Pool sort_out(const Offer& offer, const AllocationRequest& request) {
  const std::unordered_set<std::string_view> decided(request.must_include.begin(),
                                                     request.must_include.end());
  Pool pool;
  pool.healthy.reserve(request.available.size());
  for (const std::string_view id : request.available) {
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

// Removes whole devices of which another resource has a share that the kubelet does not know yet.
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
                                     const Topology& topology, const AllocationRequest& request) {
  std::vector<std::string_view> chosen = request.must_include;
  if (chosen.size() >= request.size) return chosen;
  Pool pool = sort_out(offer, request);

  std::vector<std::size_t> decided;
  for (const std::string_view id : request.must_include) {
    if (const OfferedDevice* device = offer.find(id)) {
      decided.push_back(static_cast<std::size_t>(device - offer.devices.data()));
    }
  }
  Choice choice{std::move(pool.healthy), std::move(decided), request.size - chosen.size(), {}};
  for (const DeviceRoom& device : room) choice.room.push_back(device.free);
  leave_out_covered(offer, room, choice, pool.others);
  const std::vector<std::string_view> picked = pick(offer, topology, std::move(choice));
  chosen.insert(chosen.end(), picked.begin(), picked.end());

  for (const Candidate& candidate : pool.others) {
    if (chosen.size() < request.size) chosen.push_back(candidate.id);
  }
  for (const std::string_view id : pool.alien) {
    if (chosen.size() < request.size) chosen.push_back(id);
  }
  return chosen;
}

}  // namespace tranche::core
