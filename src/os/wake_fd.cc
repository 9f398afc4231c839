// SPDX-License-Identifier: Apache-2.0
#include "os/wake_fd.h"

#include <sys/eventfd.h>

#include <cstdint>
#include <cstdlib>

namespace tranche::os {

WakeFd::WakeFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // The agent cannot work without descriptors.
  if (!fd_) std::abort();
}

void WakeFd::ring() const {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the reader wakes anyway.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof(one));
}

void WakeFd::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(fd_.get(), &count, sizeof(count));
}

}  // namespace tranche::os
