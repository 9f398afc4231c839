// SPDX-License-Identifier: Apache-2.0
//
// A release of the driver that survives a restart of the agent: the GPUs it is closed for,
// and what was known of all GPUs, because an agent that starts during a release must not
// open the driver. A reboot ends a release.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/health/node_state.h"

namespace tranche::core {

struct ReleaseMemory {
  std::string boot_id;  // empty: not known
  std::int64_t since = 0;
  bool all = false;  // no GPU was named: the driver as a whole
  std::set<GpuUuid> gpus;
  Inventory inventory;  // GPUs without health; no numbers, no topology

  bool operator==(const ReleaseMemory&) const = default;
};

// Adds GPUs to the release; none named: all.
ReleaseMemory with_request(ReleaseMemory release, const std::vector<GpuUuid>& gpus);

// Whether the node was rebooted since: then the driver was closed and every GPU was reset.
bool is_over(const ReleaseMemory& release, std::string_view boot_id);

// The state of an agent that starts while the release is in force. `recalled` has the
// faults and numbers of agents before it.
NodeState with_kept_release(NodeState recalled, const ReleaseMemory& release,
                            bool kernel_log_tells);

// "GPU-1,GPU-2", for the log; "all gpus" where none is named.
std::string released_names(const std::vector<GpuUuid>& gpus);

}  // namespace tranche::core
