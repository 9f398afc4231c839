// SPDX-License-Identifier: Apache-2.0
//
// Who is at the other end of a process's unix sockets, as the kernel has it.
//
// A connection's socket belongs to the network namespace of whoever connected,
// which is a pod's for a container's. So the descriptor is copied out of the
// process, and the kernel asked in that namespace. Needs the rights of a
// debugger over the process, and to enter network namespaces; without them, and
// on kernels before 5.6, the answer is that nothing is known.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "os/child_process.h"

namespace tranche::node {

struct SocketPeer {
  int descriptor = -1;
  std::uint32_t inode = 0;
  std::uint32_t peer = 0;      // 0: there is no other end, or it is not known
  pid_t connected_by = 0;      // may have handed its end on and ended; 0: we do not see it
  unsigned connected_uid = 0;  // as it was then
  std::uint64_t network = 0;   // namespace that the connection was made in; 0: not known
  bool is_unread = false;      // its process waits to write to it; not asked here
  bool is_known = true;        // false: the kernel did not say whether there is another end

  bool operator==(const SocketPeer&) const = default;
};

// For those of the descriptors that are unix sockets, or may be. The inode of one that could
// not be looked at is 0.
std::vector<SocketPeer> peers_of(const Process& process, const std::vector<int>& descriptors);

// Ends the connection if the process's descriptor still is the socket with that inode.
bool shut_down_socket(const Process& process, int descriptor, std::uint32_t inode);

}  // namespace tranche::node
