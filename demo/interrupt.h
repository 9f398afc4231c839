// SPDX-License-Identifier: Apache-2.0
//
// The wish to end: Ctrl-C, SIGTERM, or the terminal that goes away. It takes the
// signals for the whole process and is asked for them, so that no handler runs
// in the middle of anything and everything is cleaned up the ordinary way.
//
// Not thread-safe. Make it before any thread: threads inherit the mask.
#pragma once

#include <chrono>

#include "base/unique_fd.h"

namespace tranche::demo {

class Interrupt {
 public:
  Interrupt();

  // Whether the end was asked for, now or before.
  bool asked();
  // Waits for that. False: it did not come.
  bool wait(std::chrono::milliseconds patience);

  // As if the signal had come.
  void ask(int signal) { signal_ = signal; }

  int signal() const { return signal_; }  // 0: none

 private:
  UniqueFd signals_;
  int signal_ = 0;
};

}  // namespace tranche::demo
