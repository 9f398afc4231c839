// SPDX-License-Identifier: Apache-2.0
//
// Tests a daemon with a client of our own.
//
// A client that does not end even when it is killed is stuck in the driver on a hanging GPU. The
// next one and its server would be stuck, too, until the node runs out of processes. So none is
// started until it has ended.
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
  // Waits for the client's end or another event. False: the time is up, or the result no longer
  // matters.
  using Wait = std::function<bool(const Process& client)>;

  // Runs the client until it ends or `wait` gives up. Its output goes through a pipe at `place`.
  CanaryVerdict run(const Command& client, const std::string& place, const Wait& wait);

  // Remembers a killed client that has not ended.
  void remember(Process client) { stuck_ = std::move(client); }
  // Why no client can be started; empty: one can.
  std::string stuck();

 private:
  Process stuck_;
};

}  // namespace tranche::node
