// SPDX-License-Identifier: Apache-2.0
#include "core/grant/request.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace tranche::core {
namespace {

// A status that carries more than a few kilobytes of text does not arrive.
constexpr std::size_t kLongestIdTold = 100;

std::string told(std::string_view id) {
  if (id.size() <= kLongestIdTold) return std::string(id);
  return std::string(id.substr(0, kLongestIdTold)) + "…";
}

Result<std::vector<HeldDevice>> devices_of(const Offer& offer,
                                           const std::vector<std::string_view>& ids) {
  std::unordered_set<std::string_view> seen;
  std::vector<const OfferedDevice*> found;
  for (const std::string_view id : ids) {
    const OfferedDevice* device = offer.find(id);
    if (device == nullptr) return refusal(offer, "unknown device: " + told(id));
    if (!seen.insert(id).second) return refusal(offer, "device given twice: " + told(id));
    if (!device->health.ok()) {
      return refusal(offer, "unhealthy device: " + told(id) + ": " + device->health.reason());
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
    return refusal(offer, "maximum request size for shared resources is 1; found " +
                              std::to_string(ids.size()));
  }
  Result<std::vector<HeldDevice>> devices = devices_of(offer, ids);
  if (!devices) return devices.error();
  return GrantRequest{offer, options, facts, *std::move(devices)};
}

Error refusal(const Offer& offer, const std::string& why) {
  return {ErrorCode::kInvalidArgument,
          "invalid allocation request for \"" + offer.name.text + "\": " + why};
}

Error unavailable(const Offer& offer, const std::string& why) {
  return {ErrorCode::kUnavailable, "cannot allocate \"" + offer.name.text + "\": " + why};
}

std::string told(const OfferedDevice& device) {
  return (device.is_mig() ? "MIG device " : "GPU ") + device.index() + " (" + device.uuid + ")";
}

}  // namespace tranche::core
