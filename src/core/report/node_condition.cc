// SPDX-License-Identifier: Apache-2.0
#include "core/report/node_condition.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

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
              const Health& health, std::vector<std::string>& texts) {
  for (const std::string& trouble : health.troubles) {
    texts.push_back(fmt::format("{}: {}{}", name, trouble, remedy_of(inventory, device, trouble)));
  }
}

std::vector<std::string> troubles_of(const Inventory& inventory) {
  std::vector<std::string> texts;
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

std::string shortened(std::string text) {
  if (text.size() <= kMostMessage) return text;
  std::size_t end = kMostMessage - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

}  // namespace

NodeCondition gpus_condition(const Inventory& inventory) {
  if (inventory.released_at) {
    return {"Unknown", "DriverReleased",
            "the driver was released on this node; run `resume` to reopen it"};
  }
  if (!inventory.driver_trouble.empty()) {
    return {"Unknown", "DriverUnavailable", shortened(inventory.driver_trouble)};
  }
  const std::vector<std::string> troubles = troubles_of(inventory);
  if (!troubles.empty()) return {"False", "GpuUnhealthy", shortened(join(troubles, "; "))};
  if (inventory.gpus.empty()) return {"Unknown", "NoGpu", "the driver lists no GPU"};
  return {"True", "AllGpusHealthy", fmt::format("{} GPUs are healthy", inventory.gpus.size())};
}

}  // namespace tranche::core
