// SPDX-License-Identifier: Apache-2.0
//
// Locks between two agents on one node: after an update the new agent serves only when the old
// one has exited. Main thread only.
#pragma once

#include <optional>
#include <string>

#include "os/log.h"
#include "os/unique_fd.h"

namespace tranche::os {

// Released by the destructor.
struct InstanceLock {
  UniqueFd fd;
  std::optional<int> exit_code;  // the lock is not held: exit with this code
};

// Google's -enable-flock-wait. Waits for the lock until another process releases it or one of
// `signals` (signals.h) asks us to exit. Does nothing without a path.
InstanceLock take_instance_lock(const std::string& path, const UniqueFd& signals, Log& log);

// Locks the state folder until the process exits. Two agents that share one would take the
// kubelet's registration from each other. Holds no lock if the folder cannot be locked.
InstanceLock lock_state_folder(const std::string& folder, const UniqueFd& signals, Log& log);

}  // namespace tranche::os
