// SPDX-License-Identifier: Apache-2.0
//
// The device manager's state behind its one lock. Nothing that waits or calls
// out may happen inside read() and update().
//
// Thread-safe.
#pragma once

#include <mutex>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "testbed/kubelet/checkpoint.h"
#include "testbed/kubelet/node_state.h"
#include "testbed/kubelet/pulse.h"

namespace tranche::testbed::standin {

class GuardedState {
 public:
  GuardedState(NodeState state, Pulse& changed) : changed_(changed), state_(std::move(state)) {}

  template <typename Reader>
  auto read(Reader reader) const {
    const std::lock_guard lock(mutex_);
    return reader(state_);
  }

  // Wakes those who wait for a change, changed or not.
  template <typename Writer>
  auto update(Writer writer) {
    if constexpr (std::is_void_v<decltype(writer(state_))>) {
      update_quietly(writer);
      changed_.beat();
    } else {
      auto result = update_quietly(writer);
      changed_.beat();
      return result;
    }
  }

  // Wakes nobody: for those who wait themselves.
  template <typename Writer>
  auto update_quietly(Writer writer) {
    const std::lock_guard lock(mutex_);
    return writer(state_);
  }

 private:
  Pulse& changed_;
  mutable std::mutex mutex_;
  NodeState state_;  // guarded by mutex_
};

// The state as it is now, into the file.
inline Status write_checkpoint(CheckpointFile& file, const GuardedState& state) {
  return file.write([&] { return state.read(checkpoint_of); });
}

}  // namespace tranche::testbed::standin
