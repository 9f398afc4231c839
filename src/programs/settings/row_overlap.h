// SPDX-License-Identifier: Apache-2.0
//
// Finds rows of one kind (the same resource and conditions) that certainly select the same device.
// Reports only what is known without the node's GPUs: an index and a uuid may be one device or two,
// which the catalog decides. Pure; O(n log n) in the number of devices.
#pragma once

#include <climits>
#include <map>
#include <optional>
#include <string>

#include "core/sharing/policy.h"

namespace tranche::programs {

class RowOverlap {
 public:
  // Adds a row, and returns the line of an earlier row of its kind that it overlaps.
  std::optional<unsigned> add(const std::string& kind, const DeviceSelection& devices,
                              unsigned line);

 private:
  struct Seen {
    std::optional<unsigned> any;    // line of some row
    std::optional<unsigned> all;    // of a row with all devices
    std::optional<unsigned> first;  // of a row with the first `first_count`
    unsigned first_count = 0;
    unsigned least_index = UINT_MAX;  // among listed GPU indexes, with its line
    unsigned least_index_line = 0;
    std::map<std::string, unsigned> listed;
  };

  static std::optional<unsigned> add_first(Seen& seen, unsigned count, unsigned line);
  static std::optional<unsigned> add_list(Seen& seen, const std::vector<DeviceRef>& devices,
                                          unsigned line);

  std::map<std::string, Seen> seen_;
};

}  // namespace tranche::programs
