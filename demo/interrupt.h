// SPDX-License-Identifier: Apache-2.0
//
// A request to end: Ctrl-C, SIGTERM, or the terminal that goes away. It takes the
// signals for the whole process and is asked for them, so that no handler runs
// in the middle of anything and everything is cleaned up the ordinary way.
//
// Not thread-safe. Make it before any thread: threads inherit the mask.
#pragma once

#include <chrono>

#include "os/unique_fd.h"

namespace tranche::demo {

class Interrupt {
 public:
  Interrupt();

  // Whether the end was asked for, now or before.
  bool asked() { return wait(std::chrono::milliseconds(0)); }
  // Waits for that. False: it did not come.
  bool wait(std::chrono::milliseconds patience);

 private:
  UniqueFd signals_;
  bool asked_ = false;
};

}  // namespace tranche::demo
