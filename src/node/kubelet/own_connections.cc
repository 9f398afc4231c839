// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/own_connections.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "os/files.h"

namespace tranche::node {
namespace {

// Polls, because only gRPC sees the end of a connection and then closes the descriptor.
constexpr std::chrono::milliseconds kFirstPoll{1};
constexpr std::chrono::milliseconds kLaterPoll{10};

bool is_connection_on(int fd, std::string_view path) {
  int is_listening = 0;
  socklen_t size = sizeof(is_listening);
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0) return false;
  if (is_listening != 0) return false;
  sockaddr_un address{};
  size = sizeof(address) - 1;  // the last byte stays zero
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  return address.sun_family == AF_UNIX && path == address.sun_path;
}

}  // namespace

bool has_peer(const std::string& path) {
  const Result<std::vector<std::string>> descriptors = list_directory("/proc/self/fd");
  if (!descriptors) return false;
  for (const std::string& name : *descriptors) {
    const auto fd = parse_number<int>(name);
    if (fd && is_connection_on(*fd, path)) return true;
  }
  return false;
}

bool wait_for_no_peer(const std::string& path, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  auto pause = kFirstPoll;
  while (has_peer(path)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLaterPoll);
  }
  return true;
}

}  // namespace tranche::node
