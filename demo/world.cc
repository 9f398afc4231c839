// SPDX-License-Identifier: Apache-2.0
#include "demo/world.h"

#include <algorithm>

#include "testbed/world/parse.h"

namespace tranche::demo {
namespace {

constexpr const char* kWorld = R"(
driver: {version: 580.105.08, cuda: 13.0}
gpus:
  - {model: h100-nvl, pci: "0000:18:00.0"}
  - {model: h100-nvl, pci: "0000:2a:00.0"}
  - {model: h100-nvl, pci: "0000:3a:00.0"}
  - {model: h100-nvl, pci: "0000:5d:00.0"}
  - {model: h100-nvl, pci: "0000:9a:00.0"}
  - {model: h100-nvl, pci: "0000:ab:00.0"}
  - {model: h100-nvl, pci: "0000:ba:00.0"}
  - {model: h100-nvl, pci: "0000:db:00.0", mig: {layout: [3g.47gb, 3g.47gb]}}
pcie:
  nodes:
    - {gpus: [0, 1, 2, 3], numa: 0, cpus: "0-31,64-95"}
    - {gpus: [4, 5, 6, 7], numa: 1, cpus: "32-63,96-127"}
nvlink:
  pairs: [[0, 1, 12], [2, 3, 12], [4, 5, 12], [6, 7, 12]]
)";

}  // namespace

Result<sim::World> demo_world() { return sim::parse_world(kWorld, "the demo's world"); }

std::optional<std::size_t> place_of(const sim::World& world, const std::string& uuid) {
  const auto found =
      std::ranges::find_if(world.gpus, [&](const sim::Gpu& gpu) { return gpu.uuid.text == uuid; });
  if (found == world.gpus.end()) return std::nullopt;
  return static_cast<std::size_t>(found - world.gpus.begin());
}

std::size_t links_between(const sim::World& world, std::size_t a, std::size_t b) {
  const auto& links = world.gpus.at(a).links;
  return static_cast<std::size_t>(std::ranges::count_if(
      links, [&](const sim::NvLink& link) { return link.pci == world.gpus.at(b).pci; }));
}

}  // namespace tranche::demo
