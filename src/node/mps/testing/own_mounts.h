// SPDX-License-Identifier: Apache-2.0
//
// For tests that mount: a mount namespace of the calling thread's, and of those that it
// makes from then on.
#pragma once

#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace tranche::node {

// False where we may not; then the test is to be skipped.
inline bool have_own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// What is mounted in the folder is seen by namespaces that are made from this one.
inline bool share_mounts_of(const std::string& folder) {
  return ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         ::mount("none", folder.c_str(), nullptr, MS_SHARED, nullptr) == 0;
}

// The calling thread may not mount any more.
inline bool give_up_mounting() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  const unsigned bit = 1U << static_cast<unsigned>(CAP_SYS_ADMIN);
  data[0].effective &= ~bit;
  data[0].permitted &= ~bit;
  return ::syscall(SYS_capset, &header, data) == 0;
}

}  // namespace tranche::node
