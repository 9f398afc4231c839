// SPDX-License-Identifier: Apache-2.0
#include "node/control/control_listener.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/errno_error.h"

namespace tranche::node {
namespace {

// Waiting clients are in the kernel and take no descriptor of ours; with a full queue, connect
// fails.
constexpr int kBacklog = SOMAXCONN;
// Pause until a descriptor is free or an ended connection is closed.
constexpr int kFirstPauseMs = 1;
constexpr int kLongestPauseMs = 100;

bool may_connect(int connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

Result<UniqueFd> listen_at(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the path {} is too long for a socket", socket)};
  }
  std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error("making a socket");
  // Before bind: Linux gives the file the mode of the socket.
  if (::fchmod(fd.get(), 0600) != 0) return errno_error("changing the mode of a socket");
  ::unlink(socket.c_str());
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return errno_error("making the socket " + socket);
  }
  if (::listen(fd.get(), kBacklog) != 0) return errno_error("listening on " + socket);
  return fd;
}

}  // namespace

Result<std::unique_ptr<ControlListener>> ControlListener::listen(const std::string& socket,
                                                                 Serve serve) {
  Result<UniqueFd> fd = listen_at(socket);
  if (!fd) return fd.error();
  return std::unique_ptr<ControlListener>(
      new ControlListener(socket, *std::move(fd), std::move(serve)));
}

ControlListener::ControlListener(std::string socket, UniqueFd listener, Serve serve)
    : socket_(std::move(socket)),
      listener_(std::move(listener)),
      file_(file_identity(socket_)),
      serve_(std::move(serve)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

ControlListener::~ControlListener() {
  thread_.request_stop();
  wake_.ring();
  thread_.join();
  if (is_same_file(file_identity(socket_), file_)) ::unlink(socket_.c_str());
}

void ControlListener::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "control-socket");
  while (!stop.stop_requested()) {
    wait();
    if (stop.stop_requested()) return;
    forget_closed();
    if (connections_.size() < kMostConnections) {
      accept_one();
    } else {
      make_room();
    }
  }
}

void ControlListener::wait() {
  std::vector<pollfd> fds{{wake_.fd(), POLLIN, 0}};
  if (pause_ms_ == 0) fds.push_back({listener_.get(), POLLIN, 0});
  const std::size_t first = fds.size();
  for (const Connection& connection : connections_) {
    fds.push_back({connection.handle.get(), POLLRDHUP, 0});
  }
  ::poll(fds.data(), fds.size(), pause_ms_ > 0 ? pause_ms_ : -1);
  // Only our handle: gRPC sees the end, too, and closes the connection.
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (fds[first + i].revents != 0) connections_[i].handle.reset();
  }
}

void ControlListener::forget_closed() {
  std::erase_if(connections_, [](const Connection& connection) {
    return !is_same_file(file_identity(connection.served), connection.identity);
  });
}

void ControlListener::accept_one() {
  const int connection = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    // No descriptor is free: free one of ours.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      make_room();
    } else {
      pause_ms_ = 0;
    }
    return;
  }
  UniqueFd handle(::fcntl(connection, F_DUPFD_CLOEXEC, 0));
  if (!handle || !may_connect(connection)) {
    if (!handle) make_room();
    ::close(connection);
    return;
  }
  pause_ms_ = 0;
  connections_.push_back({std::move(handle), connection, file_identity(connection)});
  serve_(connection);
}

// Ends the oldest open connection: a new client more likely waits for an answer than the oldest
// one.
void ControlListener::make_room() {
  pause_ms_ = std::clamp(pause_ms_ * 2, kFirstPauseMs, kLongestPauseMs);
  const bool is_ending =
      std::ranges::any_of(connections_, [](const Connection& each) { return !each.handle; });
  if (is_ending || connections_.empty()) return;
  ::shutdown(connections_.front().handle.get(), SHUT_RDWR);
  connections_.front().handle.reset();
}

}  // namespace tranche::node
