// SPDX-License-Identifier: Apache-2.0
#include "core/report/extended_counts.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace tranche::core {
namespace {

std::optional<std::uint64_t> count_of(const ExtendedResource& resource,
                                      const Inventory& inventory) {
  if (const auto* number = std::get_if<std::uint64_t>(&resource.count)) return *number;
  const bool is_read = inventory.driver != DriverKind::kNone;
  if (std::get<CountedGpus>(resource.count) == CountedGpus::kAll) {
    // After a restart, only GPUs with a remembered fault would be counted.
    return is_read ? std::optional<std::uint64_t>(inventory.gpus.size()) : std::nullopt;
  }
  if (!is_read && inventory.gpus.empty()) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::ranges::count_if(inventory.gpus, [](const Gpu& gpu) { return gpu.health.ok(); }));
}

}  // namespace

ExtendedCounts extended_counts(const std::vector<ExtendedResource>& resources,
                               const Inventory& inventory, const Catalog& catalog) {
  ExtendedCounts wanted;
  for (const ExtendedResource& resource : resources) {
    const bool is_offered = std::ranges::any_of(
        catalog.offers, [&](const Offer& offer) { return offer.name.text == resource.name; });
    if (is_offered) {
      wanted.notes.push_back(fmt::format(
          "--extended-resources: {} is left out, because it is offered to the kubelet, which "
          "writes its count itself",
          resource.name));
      continue;
    }
    wanted.counts[resource.name] = count_of(resource, inventory);
  }
  return wanted;
}

}  // namespace tranche::core
