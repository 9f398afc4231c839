// SPDX-License-Identifier: Apache-2.0
#include "core/report/prediction.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/placement/fit.h"
#include "core/placement/prefer.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

// The free shares as the kubelet has them: those that the agent lists as healthy. Which numbers
// are free is not known and does not matter for the choice of the device.
std::vector<std::string> free_ids(const Offer& offer, const OfferRoom& room) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < offer.devices.size() && i < room.size(); ++i) {
    const OfferedDevice& device = offer.devices[i];
    if (!device.health.ok()) continue;
    const auto held = static_cast<unsigned>(room[i].held.size());
    const unsigned end = std::min(device.shares(), held + room[i].free);
    for (unsigned number = held; number < end; ++number) {
      ids.push_back(share_id(device.uuid, device.tag,
                             device.replicas ? std::optional(number) : std::nullopt));
    }
  }
  return ids;
}

}  // namespace

Result<std::map<std::string, std::size_t>> predict(const ReportedResource& resource,
                                                   const Topology& topology, std::size_t shares) {
  const Offer& offer = resource.offer;
  const std::vector<std::string> ids = free_ids(offer, shown(offer, resource.room));
  if (ids.size() < shares) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("{} of {} are free, asked {}", ids.size(), offer.name.text, shares)};
  }
  const AllocationRequest request{{ids.begin(), ids.end()}, {}, shares};
  std::vector<std::string_view> chosen = prefer(offer, resource.room, topology, request);
  // The kubelet adds what is missing from the rest.
  const std::set<std::string_view> taken(chosen.begin(), chosen.end());
  for (const std::string& id : ids) {
    if (chosen.size() < shares && !taken.contains(id)) chosen.emplace_back(id);
  }
  if (Status fitting = fits(offer, &resource.room, chosen); !fitting) return fitting.error();
  std::map<std::string, std::size_t> counts;
  for (const std::string_view id : chosen) {
    if (const OfferedDevice* device = offer.find(id)) ++counts[device->uuid];
  }
  return counts;
}

}  // namespace tranche::core
