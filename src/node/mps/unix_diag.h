// SPDX-License-Identifier: Apache-2.0
//
// Parses the kernel's answers about unix sockets (NETLINK_SOCK_DIAG, unix_diag). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::node {

struct UnixSocket {
  std::uint32_t inode = 0;
  std::uint32_t peer = 0;  // inode of the other end; 0: it is closed or not connected
  bool is_listening = false;
  std::string name;  // the path that it is bound to; empty: none

  bool operator==(const UnixSocket&) const = default;
};

// The request for one socket in the network namespace of the netlink socket.
std::string unix_diag_request(std::uint32_t inode);

// The sockets in an answer. Ignores truncated and other messages.
std::vector<UnixSocket> parse_unix_diag(std::string_view bytes);

}  // namespace tranche::node
