// SPDX-License-Identifier: Apache-2.0
//
// Finds the other ends of a process's unix sockets, through the kernel.
//
// A connection's socket belongs to the network namespace of the process that connected, for a
// container its pod's. So this copies the descriptor out of the process and asks the kernel in that
// namespace. Needs ptrace permission and the right to enter network namespaces; without them, and
// on kernels before 5.6, the answer is unknown.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "os/child_process.h"

namespace tranche::node {

struct SocketPeer {
  int descriptor = -1;
  std::uint32_t inode = 0;
  std::uint32_t peer = 0;      // 0: no other end, or unknown
  pid_t connected_by = 0;      // may have passed its end on and ended; 0: not visible
  unsigned connected_uid = 0;  // at that time
  std::uint64_t network = 0;   // namespace of the connection; 0: unknown
  bool is_unread = false;      // its process waits to write to it; set by the caller
  bool is_known = true;        // false: the kernel did not report the other end

  bool operator==(const SocketPeer&) const = default;
};

// Peers of the descriptors that are, or may be, unix sockets. The inode is 0 if one could not be
// read.
std::vector<SocketPeer> peers_of(const Process& process, const std::vector<int>& descriptors);

// Closes the connection if the descriptor is still the socket with that inode.
bool shut_down_socket(const Process& process, int descriptor, std::uint32_t inode);

}  // namespace tranche::node
