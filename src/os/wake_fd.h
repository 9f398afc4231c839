// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "os/unique_fd.h"

namespace tranche::os {

// An eventfd: any thread can ring() to wake the thread that polls fd().
class WakeFd {
 public:
  WakeFd();

  int fd() const { return fd_.get(); }
  void ring() const;
  // Clears all rings so far.
  void clear() const;

 private:
  UniqueFd fd_;
};

}  // namespace tranche::os
