// SPDX-License-Identifier: Apache-2.0
//
// For tests that mount: a mount namespace for the calling thread and the threads that it starts
// later.
#pragma once

#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace tranche::node {

// False: not permitted; skip the test.
inline bool have_own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// Namespaces made from this one see mounts in the folder.
inline bool share_mounts_of(const std::string& folder) {
  return ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         ::mount("none", folder.c_str(), nullptr, MS_SHARED, nullptr) == 0;
}

// Takes the right to mount from the calling thread.
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
