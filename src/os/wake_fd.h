// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "os/unique_fd.h"

namespace tranche::os {

// An eventfd: any thread can ring, and the thread that polls fd() wakes.
class WakeFd {
 public:
  WakeFd();

  int fd() const { return fd_.get(); }
  void ring() const;
  // Takes back all rings so far.
  void clear() const;

 private:
  UniqueFd fd_;
};

}  // namespace tranche::os
