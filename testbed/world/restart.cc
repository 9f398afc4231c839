// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/restart.h"

#include "testbed/world/record.h"

namespace tranche::testbed::sim {
namespace {

// The counter restarts, so it is below what it was, however often this happens.
std::uint64_t restarted(std::uint64_t energy_mj) {
  constexpr std::uint64_t kFirst = 1000;
  return energy_mj > kFirst ? kFirst : energy_mj / 2;
}

}  // namespace

void restart_counters(Vitals& vitals) {
  vitals.energy_mj = restarted(vitals.energy_mj);
  vitals.ecc_volatile = {};
  vitals.pcie_replays = 0;
}

void restart(World& world, Gpu& gpu) {
  gpu.state = Gpu::State::kPresent;
  ++gpu.generation;
  gpu.processes.clear();
  gpu.compute_mode = 0;
  gpu.mig.enabled = gpu.mig.pending;
  gpu.mig.instances.clear();
  Vitals& vitals = gpu.vitals;
  restart_counters(vitals);
  // A reset is when a pending remap takes effect.
  if (vitals.remap_pending) ++vitals.remaps_uncorrectable;
  vitals.remap_pending = false;
  vitals.retired_pending = false;
  vitals.channel_repair_pending = false;
  vitals.tpc_repair_pending = false;
  record_recovery_action(world, gpu, 0);
}

}  // namespace tranche::testbed::sim
