// SPDX-License-Identifier: Apache-2.0
//
// What happens to the driver as a whole, and between it and the kernel.
#include <utility>

#include "testbed/world/changes.h"
#include "testbed/world/restart.h"
#include "testbed/world/uuid.h"

namespace tranche::testbed::sim {

Change unload_driver() {
  return [](World world) -> Result<World> {
    world.driver.loaded = false;
    return world;
  };
}

Change load_driver() {
  return [](World world) -> Result<World> {
    // A module that is loaded now is the one that is installed now.
    world.driver.loaded = true;
    world.driver.module_version = world.driver.version;
    for (Gpu& gpu : world.gpus) {
      ++gpu.bindings;
      if (gpu.state != Gpu::State::kOffBus) restart(world, gpu);
    }
    return world;
  };
}

Change set_module_version(std::string version) {
  return [version = std::move(version)](World world) -> Result<World> {
    world.driver.module_version = version;
    return world;
  };
}

Change reboot(std::string boot_id) {
  return [boot_id = std::move(boot_id)](World world) -> Result<World> {
    world.boot_id = boot_id.empty() ? uuid_from(world.boot_id) : boot_id;
    world.kernel_log.clear();
    world.driver.loaded = true;
    world.driver.module_version = world.driver.version;
    for (Gpu& gpu : world.gpus) {
      // Ampere keeps the mode in the card; later ones start without.
      if (gpu.model.architecture > 7) gpu.mig.pending = false;
      gpu.memory_limits.clear();
      gpu.vitals.recovery_action = 0;
      restart(world, gpu);
    }
    return world;
  };
}

Change rebind(GpuRef gpu) {
  return all_of({reset(gpu), edit_gpu(std::move(gpu), [](Gpu& each) { ++each.bindings; })});
}

Change close_driver() {
  return [](World world) -> Result<World> {
    for (Gpu& gpu : world.gpus) {
      if (!gpu.persistence && gpu.processes.empty()) restart_counters(gpu.vitals);
    }
    return world;
  };
}

}  // namespace tranche::testbed::sim
