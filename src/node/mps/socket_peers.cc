// SPDX-License-Identifier: Apache-2.0
#include "node/mps/socket_peers.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <thread>

#include "node/mps/unix_diag.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};

// In the network namespace of the calling thread.
std::optional<std::uint32_t> ask_kernel(std::uint32_t inode) {
  const UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd) return std::nullopt;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  const std::string request = unix_diag_request(inode);
  if (::send(fd.get(), request.data(), request.size(), 0) < 0) return std::nullopt;
  std::array<char, 8192> answer{};
  const ssize_t size = ::recv(fd.get(), answer.data(), answer.size(), 0);
  if (size <= 0) return std::nullopt;
  for (const UnixSocket& socket :
       parse_unix_diag({answer.data(), static_cast<std::size_t>(size)})) {
    if (socket.inode == inode) return socket.peer;
  }
  return std::nullopt;
}

std::optional<SocketPeer> peer_at(int process, int descriptor, int own_space) {
  const UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process, descriptor, 0)));
  if (!copy) {
    // Closed meanwhile, or the process has ended. Any other error: unknown.
    const bool is_gone = process >= 0 && (errno == EBADF || errno == ESRCH);
    if (is_gone) return std::nullopt;
    return SocketPeer{.descriptor = descriptor, .is_known = false};
  }
  int domain = 0;
  socklen_t domain_size = sizeof(domain);
  ucred by{};
  socklen_t size = sizeof(by);
  struct stat status = {};
  if (::getsockopt(copy.get(), SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 ||
      domain != AF_UNIX || ::fstat(copy.get(), &status) != 0 ||
      ::getsockopt(copy.get(), SOL_SOCKET, SO_PEERCRED, &by, &size) != 0) {
    return std::nullopt;
  }
  SocketPeer peer{.descriptor = descriptor,
                  .inode = static_cast<std::uint32_t>(status.st_ino),
                  .connected_by = by.pid,
                  .connected_uid = by.uid};
  const UniqueFd space(::ioctl(copy.get(), SIOCGSKNS));
  if (space && ::fstat(space.get(), &status) == 0) peer.network = status.st_ino;
  ::setns(space ? space.get() : own_space, CLONE_NEWNET);
  const std::optional<std::uint32_t> other = ask_kernel(peer.inode);
  peer.peer = other.value_or(0);
  peer.is_known = other.has_value();
  return peer;
}

}  // namespace

bool shut_down_socket(const Process& process, int descriptor, std::uint32_t inode) {
  const UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process.fd(), descriptor, 0)));
  struct stat status = {};
  if (!copy || ::fstat(copy.get(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  if (static_cast<std::uint32_t>(status.st_ino) != inode) return false;
  return ::shutdown(copy.get(), SHUT_RDWR) == 0;
}

std::vector<SocketPeer> peers_of(const Process& process, const std::vector<int>& descriptors) {
  std::vector<SocketPeer> peers;
  // A separate thread, because it enters other network namespaces and stays there.
  std::thread([&] {
    const UniqueFd own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    for (const int descriptor : descriptors) {
      if (const auto peer = peer_at(process.fd(), descriptor, own.get())) peers.push_back(*peer);
    }
  }).join();
  return peers;
}

}  // namespace tranche::node
