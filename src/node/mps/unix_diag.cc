// SPDX-License-Identifier: Apache-2.0
#include "node/mps/unix_diag.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tranche::node {
namespace {

// From include/net/tcp_states.h, for sockets of every family.
constexpr std::uint8_t kListen = 10;
constexpr std::uint32_t kAnyCookie = ~0U;
constexpr std::uint32_t kEveryState = ~0U;

template <typename T>
std::optional<T> take(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  std::array<char, sizeof(T)> raw{};
  std::copy_n(bytes.begin(), sizeof(T), raw.begin());
  return std::bit_cast<T>(raw);
}

std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// Removes and returns the next `size` bytes.
std::string_view cut(std::string_view& bytes, std::size_t size) {
  const std::string_view part = bytes.substr(0, size);
  bytes.remove_prefix(std::min(bytes.size(), aligned(size)));
  return part;
}

void take_attribute(std::uint16_t type, std::string_view value, UnixSocket& socket) {
  if (type == UNIX_DIAG_PEER) socket.peer = take<std::uint32_t>(value).value_or(0);
  if (type == UNIX_DIAG_NAME) {
    // A path may end with a zero; an abstract name begins with one.
    while (!value.empty() && value.back() == '\0') value.remove_suffix(1);
    socket.name = value;
  }
}

std::optional<UnixSocket> parse_socket(std::string_view body) {
  const auto head = take<unix_diag_msg>(body);
  if (!head || head->udiag_family != AF_UNIX) return std::nullopt;
  UnixSocket socket{.inode = head->udiag_ino, .is_listening = head->udiag_state == kListen};
  body.remove_prefix(std::min(body.size(), aligned(sizeof(unix_diag_msg))));
  while (const auto attribute = take<rtattr>(body)) {
    if (attribute->rta_len < sizeof(rtattr) || attribute->rta_len > body.size()) break;
    const std::string_view whole = cut(body, attribute->rta_len);
    take_attribute(attribute->rta_type, whole.substr(sizeof(rtattr)), socket);
  }
  return socket;
}

}  // namespace

std::string unix_diag_request(std::uint32_t inode) {
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } message{};
  message.header.nlmsg_len = sizeof(message);
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST;
  message.request.sdiag_family = AF_UNIX;
  message.request.udiag_states = kEveryState;
  message.request.udiag_ino = inode;
  message.request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER;
  message.request.udiag_cookie[0] = kAnyCookie;
  message.request.udiag_cookie[1] = kAnyCookie;
  std::string bytes(sizeof(message), '\0');
  std::memcpy(bytes.data(), &message, sizeof(message));
  return bytes;
}

std::vector<UnixSocket> parse_unix_diag(std::string_view bytes) {
  std::vector<UnixSocket> sockets;
  while (const auto header = take<nlmsghdr>(bytes)) {
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > bytes.size()) break;
    const std::string_view whole = cut(bytes, header->nlmsg_len);
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) continue;
    const auto socket = parse_socket(whole.substr(sizeof(nlmsghdr)));
    if (socket) sockets.push_back(*socket);
  }
  return sockets;
}

}  // namespace tranche::node
