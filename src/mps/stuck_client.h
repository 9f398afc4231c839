// SPDX-License-Identifier: Apache-2.0
//
// A client of ours that does not end, not even when it is killed: it sits in the
// driver, on a GPU that hangs. The next one would sit beside it, and so would its
// server, until the node has no room for processes.
#pragma once

#include <string>

#include "mps/process.h"

namespace tranche {

class StuckClient {
 public:
  // Killed, and still there.
  void remember(Process client) { client_ = std::move(client); }
  // Why none is to be started after it; empty: there is none, or it is gone now.
  std::string problem();

 private:
  Process client_;
};

}  // namespace tranche
