// SPDX-License-Identifier: Apache-2.0
//
// The kernel's answers about unix sockets (NETLINK_SOCK_DIAG, unix_diag) as
// values. Pure: bytes in, values out.
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

// The request for one socket of the network namespace that the netlink socket is of.
std::string unix_diag_request(std::uint32_t inode);

// The sockets in an answer; what is cut short or is something else is passed over.
std::vector<UnixSocket> parse_unix_diag(std::string_view bytes);

}  // namespace tranche::node
