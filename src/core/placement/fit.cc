// SPDX-License-Identifier: Apache-2.0
#include "core/placement/fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/sharing/memory_unit.h"

namespace tranche::core {
namespace {

// The kubelet does not receive a status with more than a few kilobytes of text.
constexpr std::size_t kMostDevicesShown = 16;

std::string what_is_free(const Offer& offer, const OfferRoom& room) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < offer.devices.size() && i < kMostDevicesShown; ++i) {
    const OfferedDevice& device = offer.devices[i];
    parts.push_back(fmt::format("GPU {}: {} of {}", device.index(),
                                device.health.ok() ? std::to_string(room[i].free) : "unhealthy, 0",
                                device.shares()));
  }
  if (offer.devices.size() > kMostDevicesShown) parts.emplace_back("…");
  return join(parts, ", ");
}

Error refusal(const Offer& offer, const OfferRoom* room, const std::string& why) {
  std::string message = fmt::format("cannot allocate \"{}\": {}", offer.name.text, why);
  if (room != nullptr) message += "; free now: " + what_is_free(offer, *room);
  return {ErrorCode::kUnavailable, std::move(message)};
}

// A GPU with room for all of them, or null. The kubelet may have chosen others by its own rules,
// or by an outdated list.
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
  std::string why = fmt::format(
      "{} were requested; all shares of a container must come from one GPU, but ", count);
  const OfferedDevice* large = with_room(offer, room, count);
  why += large == nullptr
             ? "no GPU has as many free"
             : fmt::format("the kubelet chose several, although GPU {} has as many free",
                           large->index());
  if (offer.terms.form == ShareForm::kMemory) {
    why += fmt::format(" (a share is {})", unit_text(offer.terms.unit_bytes));
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
        fmt::format("{} shares on different GPUs were requested, but {}", count,
                    with_one < count
                        ? fmt::format("only {} GPUs have one free", with_one)
                        : fmt::format("the kubelet chose shares of only {}", gpus.size())));
  }
  return Done{};
}

}  // namespace tranche::core
