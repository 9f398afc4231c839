// SPDX-License-Identifier: Apache-2.0
//
// Short ways to write readings of the driver down in tests.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/gpu/testing/literals.h"
#include "core/health/node_state.h"

namespace tranche::core {

inline GpuReading answering(Gpu gpu) {
  GpuReading reading{.index = gpu.index, .gpu = std::move(gpu)};
  reading.vitals = {.recovery_action = 0, .uncorrected_ecc = 0, .energy_mj = 1000};
  return reading;
}

inline GpuReading failing(unsigned index, FailureKind kind, const char* what) {
  return {.index = index, .failure = GpuFailure{kind, what}};
}

inline DriverReading reading_of(std::vector<GpuReading> gpus, std::uint64_t session = 1) {
  return {.kind = DriverKind::kNvml,
          .driver_version = "580.105.08",
          .session = session,
          .gpus = std::move(gpus)};
}

// As many GPUs as a_node() has, all healthy.
inline DriverReading all_fine(unsigned count, std::uint64_t session = 1) {
  std::vector<GpuReading> gpus;
  for (unsigned i = 0; i < count; ++i) gpus.push_back(answering(a_gpu(i)));
  return reading_of(std::move(gpus), session);
}

inline const Surroundings kAround{.boot_id = "b1", .now = 1'000'000};

inline NodeState node_of(unsigned count) { return with_reading({}, all_fine(count), kAround); }

}  // namespace tranche::core
