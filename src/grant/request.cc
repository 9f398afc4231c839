// SPDX-License-Identifier: Apache-2.0
#include "grant/request.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>

#include "base/text.h"

namespace tranche {
namespace {

// A status that carries more than a few kilobytes of text does not arrive.
constexpr std::size_t kLongestIdTold = 100;
constexpr std::size_t kMostDevicesTold = 8;

std::string told(std::string_view id) {
  if (id.size() <= kLongestIdTold) return std::string(id);
  return std::string(id.substr(0, kLongestIdTold)) + "…";
}

// "3 on GPU 0 (GPU-8f1c…), 2 on GPU 1 (GPU-77aa…)"
std::string told(const std::vector<HeldDevice>& devices) {
  std::vector<std::string> parts;
  for (const HeldDevice& held : devices) {
    if (parts.size() == kMostDevicesTold) {
      parts.emplace_back("and so on");
      break;
    }
    parts.push_back(std::to_string(held.shares) + " on " + told(*held.device));
  }
  return join(parts, ", ");
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

// Memory of two GPUs is not one piece of memory: no allocation could use it.
bool must_be_one_device(const Terms& terms) {
  return terms.form == ShareForm::kMemory || terms.dialect == Dialect::kGpushare;
}

Status check_terms(const Offer& offer, const std::vector<HeldDevice>& devices) {
  const Terms& terms = offer.terms;
  if (must_be_one_device(terms) && devices.size() > 1) {
    return refusal(offer, "a container's units must be of one GPU, and these are not: " +
                              told(devices) + ": ask for no more than one GPU has free");
  }
  if (!terms.distinct_gpus) return Done{};
  std::map<GpuUuid, unsigned> shares;
  for (const HeldDevice& held : devices) shares[held.device->gpu] += held.shares;
  if (std::ranges::any_of(shares, [](const auto& gpu) { return gpu.second > 1; })) {
    return refusal(offer, "a container's shares must be of different GPUs, and these are not: " +
                              told(devices) + ": ask for no more shares than there are GPUs free");
  }
  return Done{};
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
  if (Status allowed = check_terms(offer, *devices); !allowed) return allowed.error();
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

}  // namespace tranche
