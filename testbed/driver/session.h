// SPDX-License-Identifier: Apache-2.0
//
// What the library keeps for its process between calls: how often it was
// initialised, the GPUs it saw then, the handles it gave, the event sets.
//
// A session sees the GPUs that were there when it began, as a real one does: a
// GPU that was reset, replaced or added meanwhile needs a fresh nvmlInit.
//
// Thread-safe. There is one Session in a process: the C interface has no place
// where a caller could keep it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/driver/nvml/abi.h"
#include "testbed/driver/event_set.h"
#include "testbed/driver/handles.h"
#include "testbed/driver/live_world.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

struct DeviceName {
  GpuUuid gpu;
  MigUuid mig;  // empty: the GPU itself
  auto operator<=>(const DeviceName&) const = default;
};
struct GpuInstanceName {
  GpuUuid gpu;
  unsigned id = 0;
  auto operator<=>(const GpuInstanceName&) const = default;
};
struct ComputeInstanceName {
  GpuUuid gpu;
  unsigned gpu_instance = 0;
  unsigned id = 0;
  auto operator<=>(const ComputeInstanceName&) const = default;
};

// A GPU as it was when the session began.
struct SeenGpu {
  GpuUuid uuid;
  unsigned generation = 0;
};

class Session {
 public:
  // Counts up; the first one opens the world and looks for GPUs. `function` is
  // the one that was called, for its faults.
  nvml::abi::Return begin(std::string_view function);
  nvml::abi::Return end(std::string_view function);

  // The world's file while the session is open, else null.
  std::shared_ptr<LiveWorld> live() const;
  std::shared_ptr<const std::vector<SeenGpu>> gpus() const;

  // What the faults of these GPUs make of a call or, with no GPUs, the faults
  // that name none. kSuccess: nothing, or they came as often as they should.
  struct Verdict {
    bool blocks = false;
    std::uint64_t fault = 0;  // the one that blocks
    nvml::abi::Return code = nvml::abi::kSuccess;
  };
  Verdict judge(const World& world, std::string_view function, std::span<const GpuUuid> gpus);

  // What they make of one field of nvmlDeviceGetFieldValues.
  nvml::abi::Return judge_field(const World& world, const GpuUuid& gpu, unsigned field);

  Handles<DeviceName> devices;
  Handles<GpuInstanceName> gpu_instances;
  Handles<ComputeInstanceName> compute_instances;
  EventSets event_sets;

 private:
  std::shared_ptr<LiveWorld> live_at(const std::string& path);
  bool comes_now(const CallFault& fault);

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  unsigned references_ = 0;
  std::shared_ptr<LiveWorld> live_;
  std::shared_ptr<const std::vector<SeenGpu>> gpus_;
  std::map<std::uint64_t, unsigned> fault_counts_;
};

// Where the world is: TRANCHE_SIM_WORLD, else tranche-sim/world.yaml in a
// folder above this library's own file. Empty: nowhere.
std::string world_path();

}  // namespace tranche::testbed::sim
