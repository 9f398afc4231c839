// SPDX-License-Identifier: Apache-2.0
#include "node/mps/exclusive_mode.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "os/files.h"

namespace tranche::node {
namespace {

std::string memory_of(const MpsDaemonPlan& plan) { return plan.folder + "/exclusive"; }

bool is_released(const ComputeModeDriver& driver) {
  return driver.is_released && driver.is_released();
}

}  // namespace

Status apply_compute_mode(const MpsDaemonPlan& plan, const ComputeModeDriver& driver) {
  if (!plan.exclusive) return restore_compute_mode(plan, driver.set);
  if (!driver.set) {
    return Error{ErrorCode::kUnavailable, "the compute mode cannot be set"};
  }
  const std::string text = join(plan.devices, "\n") + "\n";
  const Result<std::string> before = read_plain_file(memory_of(plan), 1 << 20);
  const bool was_set = before && *before == text;
  if (!was_set && is_released(driver)) {
    return Error{ErrorCode::kUnavailable,
                 "the compute mode cannot be set while the driver is released; run 'resume'"};
  }
  // First, because a crash in between then restores one device too many.
  if (Status kept = write_atomically(memory_of(plan), text); !kept) return kept;
  for (const std::string& uuid : plan.devices) {
    if (Status done = driver.set(uuid, true); !done) {
      if (was_set && is_released(driver)) continue;
      return done.error().in(fmt::format("making {} exclusive to MPS", uuid));
    }
  }
  return Done{};
}

Result<std::vector<std::string>> renew_compute_mode(const MpsDaemonPlan& plan,
                                                    const ComputeModeDriver& driver) {
  std::vector<std::string> changed;
  if (!plan.exclusive || !driver.is_exclusive || !driver.set) return changed;
  for (const std::string& uuid : plan.devices) {
    const Result<bool> exclusive = driver.is_exclusive(uuid);
    if (!exclusive || *exclusive) continue;
    changed.push_back(uuid);
    if (Status done = driver.set(uuid, true); !done) {
      return done.error().in(fmt::format("making {} exclusive to MPS again", uuid));
    }
  }
  return changed;
}

Status restore_compute_mode(const MpsDaemonPlan& plan, const SetComputeMode& set) {
  const Result<std::string> text = read_plain_file(memory_of(plan), 1 << 20);
  if (!text) {
    return text.error().code == ErrorCode::kNotFound ? Status(Done{}) : Status(text.error());
  }
  Status outcome = Done{};
  for (const std::string& uuid : split(*text, '\n')) {
    if (uuid.empty() || !set) continue;
    if (Status done = set(uuid, false); !done) {
      outcome = done.error().in("restoring the compute mode of " + uuid);
    }
  }
  if (outcome) ::unlink(memory_of(plan).c_str());
  return outcome;
}

}  // namespace tranche::node
