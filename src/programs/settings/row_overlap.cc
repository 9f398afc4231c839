// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/row_overlap.h"

#include <variant>

#include "programs/settings/device_words.h"

namespace tranche::programs {

std::optional<unsigned> RowOverlap::add(const std::string& kind, const DeviceSelection& devices,
                                        unsigned line) {
  Seen& seen = seen_[kind];
  std::optional<unsigned> other = seen.all;
  if (std::holds_alternative<AllDevices>(devices)) {
    if (!other) other = seen.any;
    seen.all = line;
  } else if (const auto* first = std::get_if<FirstDevices>(&devices)) {
    const auto found = add_first(seen, first->count, line);
    if (!other) other = found;
  } else if (const auto* list = std::get_if<std::vector<DeviceRef>>(&devices)) {
    const auto found = add_list(seen, *list, line);
    if (!other) other = found;
  }
  if (!seen.any) seen.any = line;
  return other;
}

// The first devices of a resource are those with the lowest indexes, so a GPU of the resource with
// an index below the count is among them.
std::optional<unsigned> RowOverlap::add_first(Seen& seen, unsigned count, unsigned line) {
  const std::optional<unsigned> other = seen.first;
  seen.first = line;
  seen.first_count = count;
  if (other) return other;
  if (seen.least_index < count) return seen.least_index_line;
  return std::nullopt;
}

std::optional<unsigned> RowOverlap::add_list(Seen& seen, const std::vector<DeviceRef>& devices,
                                             unsigned line) {
  std::optional<unsigned> other;
  for (const DeviceRef& device : devices) {
    const auto [earlier, is_new] = seen.listed.emplace(to_text(device), line);
    if (!is_new) other = earlier->second;
    const auto* gpu = std::get_if<GpuIndex>(&device);
    if (gpu == nullptr) continue;
    if (seen.first && gpu->index < seen.first_count) other = seen.first;
    if (gpu->index < seen.least_index) {
      seen.least_index = gpu->index;
      seen.least_index_line = line;
    }
  }
  return other;
}

}  // namespace tranche::programs
