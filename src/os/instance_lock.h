// SPDX-License-Identifier: Apache-2.0
//
// The locks by which two agents on one node follow each other: the new one of an
// update serves only when the old one has ended. The main thread's.
#pragma once

#include <optional>
#include <string>

#include "os/log.h"
#include "os/unique_fd.h"

namespace tranche::os {

// Held as long as this lives.
struct InstanceLock {
  UniqueFd fd;
  std::optional<int> exit_code;  // it is not held, and we are to end with this
};

// Google's, of -enable-flock-wait. Takes the lock, and waits for it as long as another process has
// it, or until one of `signals` (signals.h) asks us to end. Without a path there is no lock.
InstanceLock take_instance_lock(const std::string& path, const UniqueFd& signals, Log& log);

// Our own: the state folder itself, for as long as the process lives. Two agents that
// share one would take the kubelet's registration from each other. Where the folder
// cannot be locked there is no lock.
InstanceLock lock_state_folder(const std::string& folder, const UniqueFd& signals, Log& log);

}  // namespace tranche::os
