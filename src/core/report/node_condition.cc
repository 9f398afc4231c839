// SPDX-License-Identifier: Apache-2.0
#include "core/report/node_condition.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/shortened.h"
#include "core/report/reason_groups.h"

namespace tranche::core {
namespace {

// Conditions are shown in one line of `kubectl describe node`.
constexpr std::size_t kMostMessage = 1024;

std::string remedy_of(const Inventory& inventory, const std::string& device,
                      const std::string& trouble) {
  const auto found = std::ranges::find_if(inventory.remedies, [&](const Remedy& remedy) {
    return remedy.device == device && remedy.trouble == trouble;
  });
  return found == inventory.remedies.end() ? "" : fmt::format(" (cleared by: {})", found->what);
}

void describe(const Inventory& inventory, const std::string& name, const std::string& device,
              const Health& health, ReasonGroups& groups) {
  for (const std::string& trouble : health.troubles) {
    groups.add(name, trouble + remedy_of(inventory, device, trouble));
  }
}

ReasonGroups troubles_of(const Inventory& inventory) {
  ReasonGroups texts;
  for (const Gpu& gpu : inventory.gpus) {
    const std::string name = fmt::format("GPU {} ({})", gpu.index, gpu.uuid.text);
    describe(inventory, name, gpu.uuid.text, gpu.health, texts);
    if (!gpu.health.ok()) continue;  // its slices have the same troubles
    for (const MigDevice& mig : gpu.mig) {
      describe(inventory, fmt::format("GPU {}:{} ({})", gpu.index, mig.index, mig.uuid.text),
               mig.uuid.text, mig.health, texts);
    }
  }
  return texts;
}

}  // namespace

NodeCondition gpus_condition(const Inventory& inventory) {
  if (inventory.released_at) {
    return {"Unknown", "DriverReleased",
            "the driver was released on this node; run `tranche-device-plugin resume` in the "
            "agent's pod to reopen it"};
  }
  if (!inventory.driver_trouble.empty()) {
    return {"Unknown", "DriverUnavailable", shortened(inventory.driver_trouble, kMostMessage)};
  }
  const ReasonGroups troubles = troubles_of(inventory);
  if (!troubles.empty()) {
    return {"False", "GpuUnhealthy", shortened(troubles.text(), kMostMessage)};
  }
  if (inventory.gpus.empty()) return {"Unknown", "NoGpu", "the driver lists no GPU"};
  if (inventory.gpus.size() == 1) return {"True", "AllGpusHealthy", "1 GPU is healthy"};
  return {"True", "AllGpusHealthy", fmt::format("{} GPUs are healthy", inventory.gpus.size())};
}

}  // namespace tranche::core
