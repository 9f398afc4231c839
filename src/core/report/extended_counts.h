// SPDX-License-Identifier: Apache-2.0
//
// The counts of the extended resources that the agent writes itself. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/settings/cluster_options.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

struct ExtendedCounts {
  // Empty: not known, because the driver cannot be read. What the Node has stays.
  std::map<std::string, std::optional<std::uint64_t>> counts;
  // Why a resource is left out: the kubelet has it from us already, and would overwrite it.
  std::vector<std::string> notes;

  bool operator==(const ExtendedCounts&) const = default;
};

ExtendedCounts extended_counts(const std::vector<ExtendedResource>& resources,
                               const Inventory& inventory, const Catalog& catalog);

}  // namespace tranche::core
