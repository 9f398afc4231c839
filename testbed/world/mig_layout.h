// SPDX-License-Identifier: Apache-2.0
//
// From what a person writes ("3g.40gb, 2g.20gb, 1g.10gb") to instances with
// ids, places and UUIDs, as the driver would make them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

struct WantedCompute {
  unsigned slices = 0;  // 0: the whole GPU instance
  std::optional<unsigned> id;
  std::optional<unsigned> start;
  std::optional<MigUuid> uuid;
  std::optional<unsigned> index;
};

struct WantedInstance {
  std::string profile;
  std::optional<unsigned> id;
  std::optional<unsigned> start;
  // None: one compute instance over the whole. Empty: none at all.
  std::optional<std::vector<WantedCompute>> compute;
};

// "3g.40gb" or "3g.40gb:1c:2c", the second with its compute instances.
Result<WantedInstance> parse_wanted(std::string_view text);
// Several of them with commas between.
Result<std::vector<WantedInstance>> parse_layout(std::string_view text);

// Lays the instances out on the GPU. Those without a start go where the driver
// would put them, the largest first. Error: something does not fit.
Result<std::vector<GpuInstance>> lay_out(const Gpu& gpu, const Driver& driver,
                                         const std::vector<WantedInstance>& wanted);

}  // namespace tranche::testbed::sim
