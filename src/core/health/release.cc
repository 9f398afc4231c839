// SPDX-License-Identifier: Apache-2.0
#include "core/health/release.h"

#include <utility>

#include "base/text.h"

namespace tranche::core {

ReleaseMemory with_request(ReleaseMemory release, const std::vector<GpuUuid>& gpus) {
  release.all = release.all || gpus.empty();
  release.gpus.insert(gpus.begin(), gpus.end());
  return release;
}

bool is_over(const ReleaseMemory& release, std::string_view boot_id) {
  return !boot_id.empty() && !release.boot_id.empty() && boot_id != release.boot_id;
}

NodeState with_kept_release(NodeState recalled, const ReleaseMemory& release,
                            bool kernel_log_tells) {
  NodeState state = std::move(recalled);
  Inventory inventory = release.inventory;
  inventory.numbers = std::move(state.inventory.numbers);
  // One that was lost before the release is known by its fault alone.
  for (Gpu& gpu : state.inventory.gpus) {
    if (find_gpu(inventory, gpu.uuid) == nullptr) inventory.gpus.push_back(std::move(gpu));
  }
  inventory.released_at = release.since;
  state.inventory = std::move(inventory);
  state.seen_by = state.inventory.driver;
  const std::vector<GpuUuid> named(release.gpus.begin(), release.gpus.end());
  return with_release(std::move(state), release.all ? std::vector<GpuUuid>{} : named,
                      kernel_log_tells);
}

std::string released_names(const std::vector<GpuUuid>& gpus) {
  std::vector<std::string> names;
  for (const GpuUuid& gpu : gpus) names.push_back(gpu.text);
  return names.empty() ? "all gpus" : join(names, ",");
}

}  // namespace tranche::core
