// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/defaults.h"

#include "testbed/world/uuid.h"

namespace tranche::testbed::sim {

Gpu default_gpu(const std::string& model_key, const Model& model, std::size_t position) {
  const auto number = static_cast<unsigned>(position);
  Gpu gpu{.model_key = model_key, .model = model};
  gpu.uuid = GpuUuid("GPU-" + uuid_from("gpu " + std::to_string(position)));
  // Serials are 13 digits.
  if (model.has_serial) gpu.serial = std::to_string(1'650'000'000'001ULL + position);
  gpu.pci = {.bus = 0x10 + 0x0e * (number % 16)};
  gpu.minor = number;
  gpu.drm_card = number + 1;  // 0 is the node's own display
  gpu.drm_render = 128 + number;
  if (model.fabric) gpu.fabric.state = Fabric::State::kCompleted;
  return gpu;
}

std::string default_boot_id() { return uuid_from("boot"); }

}  // namespace tranche::testbed::sim
