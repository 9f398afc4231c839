// SPDX-License-Identifier: Apache-2.0
//
// What the commands `release` and `resume` answer. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/gpu/inventory.h"
#include "core/ledger/holdings.h"
#include "node/driver/device_users.h"

namespace tranche::programs {

// How long both commands wait for the driver: long enough for calls that hang to be given up.
std::chrono::milliseconds release_patience(std::chrono::milliseconds driver_call_timeout);

struct ReleaseReport {
  std::string node;
  std::chrono::milliseconds patience{};
  std::vector<Gpu> gpus;                               // that the driver was closed for
  bool all_gpus = true;                                // of the node
  std::optional<std::vector<PlacedHolding>> holdings;  // empty: not known
  std::vector<std::string> mps_daemons;                // of ours, on these GPUs
  bool follows_kernel_log = false;
  // After the wait.
  std::string still_open;  // empty: the driver is closed
  std::string not_kept;    // why it would not outlive the agent
  DeviceUsers users;
};

// Whether a pod is known to hold one of the GPUs.
bool is_held(const ReleaseReport& report);

// Sentences on who holds the GPU, a line each.
std::vector<std::string> holders_on(const Gpu& gpu, const ReleaseReport& report);

// An error: the driver is not closed yet.
Result<std::string> release_answer(const ReleaseReport& report);

// Device nodes of the GPUs, for DeviceUsers.
std::vector<std::string> device_nodes_of(const std::vector<Gpu>& gpus);

struct ResumeReport {
  std::string node;
  bool was_released = true;
  std::vector<GpuUuid> released;  // until now
  std::string waits_for;          // empty: the driver was read again
  Inventory inventory;            // as it was then
};
// An error: the driver cannot be read.
Result<std::string> resume_answer(const ResumeReport& report);

}  // namespace tranche::programs
