// SPDX-License-Identifier: Apache-2.0
#include "core/placement/fit.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/sharing/memory_unit.h"

namespace tranche::core {
namespace {

// A status that carries more than a few kilobytes of text does not arrive.
constexpr std::size_t kMostDevicesTold = 16;

std::string what_is_free(const Offer& offer, const OfferRoom& room) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < offer.devices.size() && i < kMostDevicesTold; ++i) {
    const OfferedDevice& device = offer.devices[i];
    parts.push_back("GPU " + device.index() + ": " +
                    (device.health.ok() ? std::to_string(room[i].free) : "unhealthy, 0") + " of " +
                    std::to_string(device.shares()));
  }
  if (offer.devices.size() > kMostDevicesTold) parts.emplace_back("…");
  return join(parts, ", ");
}

Error refusal(const Offer& offer, const OfferRoom* room, const std::string& why) {
  std::string message = "cannot allocate \"" + offer.name.text + "\": " + why;
  if (room != nullptr) message += "; free now: " + what_is_free(offer, *room);
  return {ErrorCode::kUnavailable, std::move(message)};
}

// A GPU with room for all of them, where there is one: the kubelet may choose by
// other things, or by a list that it has not seen yet.
const OfferedDevice* with_room(const Offer& offer, const OfferRoom* room, std::size_t count) {
  for (std::size_t i = 0; room != nullptr && i < offer.devices.size(); ++i) {
    if (offer.devices[i].health.ok() && (*room)[i].free >= count) return &offer.devices[i];
  }
  return nullptr;
}

std::size_t gpus_with_room(const Offer& offer, const OfferRoom& room) {
  std::set<GpuUuid> gpus;
  for (std::size_t i = 0; i < offer.devices.size(); ++i) {
    if (offer.devices[i].health.ok() && room[i].free > 0) gpus.insert(offer.devices[i].gpu);
  }
  return gpus.size();
}

Error too_large(const Offer& offer, const OfferRoom* room, std::size_t count) {
  std::string why = std::to_string(count) + " were asked for, and all shares of a container " +
                    "must come from one GPU, where ";
  const OfferedDevice* large = with_room(offer, room, count);
  why += large == nullptr
             ? "no GPU has as many free"
             : "the kubelet chose several, though GPU " + large->index() + " has as many free";
  if (offer.terms.form == ShareForm::kMemory) {
    why += " (a share is " + unit_text(offer.terms.unit_bytes) + ")";
  }
  return refusal(offer, room, why);
}

}  // namespace

Status fits(const Offer& offer, const OfferRoom* room,
            const std::vector<std::string_view>& shares) {
  std::set<const OfferedDevice*> devices;
  std::set<GpuUuid> gpus;
  std::size_t count = 0;
  for (const std::string_view id : shares) {
    const OfferedDevice* device = offer.find(id);
    if (device == nullptr) continue;
    devices.insert(device);
    gpus.insert(device->gpu);
    ++count;
  }
  if (offer.terms.one_device && devices.size() > 1) return too_large(offer, room, count);
  if (offer.terms.distinct_gpus && gpus.size() < count) {
    const std::size_t with_one = room != nullptr ? gpus_with_room(offer, *room) : gpus.size();
    return refusal(
        offer, room,
        std::to_string(count) + " shares on different GPUs were asked for, and " +
            (with_one < count ? "only " + std::to_string(with_one) + " GPUs have one free"
                              : "the kubelet chose those of " + std::to_string(gpus.size())));
  }
  return Done{};
}

}  // namespace tranche::core
