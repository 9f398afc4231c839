// SPDX-License-Identifier: Apache-2.0
#include "core/placement/spread.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tranche::core {
namespace {

struct Device {
  std::size_t gpu = 0;  // which real GPU, by number
  std::size_t taken = 0;
  std::size_t room = 0;                // how many may be taken
  std::vector<const Candidate*> free;  // a heap, lowest replica number first
};

// The kubelet passes ids in random order. Compares only shares of one device.
struct HigherNumber {
  bool operator()(const Candidate* a, const Candidate* b) const { return a->replica > b->replica; }
};

class Spreading {
 public:
  Spreading(const Offer& offer, const Choice& choice)
      : takes_fullest_(offer.terms.placement == SharePlacement::kPacked ||
                       offer.terms.placement == SharePlacement::kPack),
        new_gpus_first_(offer.terms.placement == SharePlacement::kSpread ||
                        offer.terms.distinct_gpus),
        devices_(offer.devices.size()) {
    std::map<GpuUuid, std::size_t> numbers;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const auto [number, is_new] = numbers.try_emplace(offer.devices[i].gpu, numbers.size());
      devices_[i].gpu = number->second;
      devices_[i].taken = offer.devices[i].shares();
    }
    for (const Candidate& candidate : choice.candidates) {
      devices_[candidate.device].free.push_back(&candidate);
    }
    gpu_taken_.resize(numbers.size());
    gpu_chosen_.resize(numbers.size());
    for (const std::size_t device : choice.decided) ++gpu_chosen_[devices_[device].gpu];
    on_gpu_.resize(numbers.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      Device& device = devices_[i];
      device.taken -= std::min(device.taken, device.free.size());
      device.room = i < choice.room.size() ? choice.room[i] : device.free.size();
      gpu_taken_[device.gpu] += device.taken;
      on_gpu_[device.gpu].push_back(i);
      std::ranges::make_heap(device.free, HigherNumber{});
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) enqueue(i);
  }

  std::string_view take() {
    const std::size_t next = std::get<3>(*queue_.begin());
    Device& device = devices_[next];
    std::ranges::pop_heap(device.free, HigherNumber{});
    const std::string_view id = device.free.back()->id;
    // The GPU's load is part of its devices' places in the queue.
    for (const std::size_t sibling : on_gpu_[device.gpu]) queue_.erase(place(sibling));
    device.free.pop_back();
    --device.room;
    ++device.taken;
    ++gpu_taken_[device.gpu];
    ++gpu_chosen_[device.gpu];
    for (const std::size_t sibling : on_gpu_[device.gpu]) enqueue(sibling);
    return id;
  }

  bool has_more() const { return !queue_.empty(); }

 private:
  // Sort key: the container's shares of the GPU if that counts, the device's load, the GPU's
  // load, the order.
  using Place = std::tuple<std::size_t, std::int64_t, std::int64_t, std::size_t>;

  Place place(std::size_t i) const {
    const std::int64_t sign = takes_fullest_ ? -1 : 1;
    return {new_gpus_first_ ? gpu_chosen_[devices_[i].gpu] : 0,
            sign * static_cast<std::int64_t>(devices_[i].taken),
            sign * static_cast<std::int64_t>(gpu_taken_[devices_[i].gpu]), i};
  }

  void enqueue(std::size_t i) {
    if (!devices_[i].free.empty() && devices_[i].room > 0) queue_.insert(place(i));
  }

  const bool takes_fullest_;
  const bool new_gpus_first_;
  std::vector<Device> devices_;
  std::vector<std::size_t> gpu_taken_;
  std::vector<std::size_t> gpu_chosen_;           // for this container
  std::vector<std::vector<std::size_t>> on_gpu_;  // devices of each GPU
  std::set<Place> queue_;
};

}  // namespace

std::vector<std::string_view> pick_shared(const Offer& offer, const Choice& choice) {
  Spreading spreading(offer, choice);
  std::vector<std::string_view> picked;
  while (picked.size() < choice.needed && spreading.has_more()) picked.push_back(spreading.take());
  return picked;
}

}  // namespace tranche::core
