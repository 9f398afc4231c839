// SPDX-License-Identifier: Apache-2.0
#include "core/grant/request.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace tranche::core {
namespace {

// The kubelet does not receive a status with more than a few kilobytes of text.
constexpr std::size_t kLongestIdShown = 100;

std::string shortened(std::string_view id) {
  if (id.size() <= kLongestIdShown) return std::string(id);
  return std::string(id.substr(0, kLongestIdShown)) + "…";
}

Result<std::vector<HeldDevice>> devices_of(const Offer& offer,
                                           const std::vector<std::string_view>& ids) {
  std::unordered_set<std::string_view> seen;
  std::vector<const OfferedDevice*> found;
  for (const std::string_view id : ids) {
    const OfferedDevice* device = offer.find(id);
    if (device == nullptr) return refusal(offer, "unknown device: " + shortened(id));
    if (!seen.insert(id).second) return refusal(offer, "device given twice: " + shortened(id));
    if (!device->health.ok()) {
      return refusal(
          offer, fmt::format("unhealthy device: {}: {}", shortened(id), device->health.reason()));
    }
    found.push_back(device);
  }
  // Devices lie in one vector, so their addresses are their order.
  std::ranges::sort(found);
  std::vector<HeldDevice> devices;
  for (const OfferedDevice* device : found) {
    if (devices.empty() || devices.back().device != device) devices.push_back({device, 0});
    ++devices.back().shares;
  }
  return devices;
}

}  // namespace

std::uint64_t HeldDevice::mib() const { return std::max<std::uint64_t>(bytes() >> 20, 1); }

unsigned GrantRequest::shares() const {
  return std::accumulate(devices.begin(), devices.end(), 0U,
                         [](unsigned sum, const HeldDevice& held) { return sum + held.shares; });
}

Result<GrantRequest> read_request(const Offer& offer, const GrantOptions& options,
                                  const NodeFacts& facts,
                                  const std::vector<std::string_view>& ids) {
  if (ids.empty()) return refusal(offer, "no device ids were given");
  if (offer.terms.one_share_only && ids.size() > 1) {
    return refusal(
        offer, fmt::format("maximum request size for shared resources is 1; found {}", ids.size()));
  }
  Result<std::vector<HeldDevice>> devices = devices_of(offer, ids);
  if (!devices) return devices.error();
  return GrantRequest{offer, options, facts, *std::move(devices)};
}

Error refusal(const Offer& offer, const std::string& why) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("invalid allocation request for \"{}\": {}", offer.name.text, why)};
}

Error unavailable(const Offer& offer, const std::string& why) {
  return {ErrorCode::kUnavailable, fmt::format("cannot allocate \"{}\": {}", offer.name.text, why)};
}

std::string describe(const OfferedDevice& device) {
  return fmt::format("{} {} ({})", device.is_mig() ? "MIG device" : "GPU", device.index(),
                     device.uuid);
}

}  // namespace tranche::core
