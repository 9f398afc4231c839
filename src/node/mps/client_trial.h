// SPDX-License-Identifier: Apache-2.0
//
// Tries a daemon with a client of our own, and judges by what becomes of it.
//
// One that does not end, not even when it is killed, sits in the driver on a GPU
// that hangs. The next one would sit beside it, and so would its server, until the
// node has no room for processes: none follows it until it is gone.
//
// Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "core/mps/control_words.h"
#include "os/child_process.h"

namespace tranche::node {

class ClientTrial {
 public:
  // Waits for the client's end, or for something else to happen; false: the time is
  // up, or nobody wants to know any more.
  using Wait = std::function<bool(const Process& client)>;

  // Runs the client until it ends or is not waited for. What it says goes through a
  // pipe at `place`.
  CanaryVerdict run(const Command& client, const std::string& place, const Wait& wait);

  // A client was killed, and is still there.
  void remember(Process client) { stuck_ = std::move(client); }
  // Why none can be started; empty: one can.
  std::string stuck();

 private:
  Process stuck_;
};

}  // namespace tranche::node
