// SPDX-License-Identifier: Apache-2.0
//
// Listens on the control socket and accepts its connections, for whoever serves them.
// gRPC 1.51 could listen itself, but it stops accepting for good when it has once run
// out of descriptors, and it has no limit on connections. This limit keeps them from
// taking the descriptors that the kubelet's sockets need.
//
// Only root and the agent's own user may connect: the socket's mode is 0600 from the
// moment it exists, and the peer's user is checked as well.
//
// Accepts on a thread of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/file_identity.h"
#include "os/unique_fd.h"
#include "os/wake_fd.h"

namespace tranche::node {

class ControlListener {
 public:
  // People, and programs that ask now and then.
  static constexpr std::size_t kMostConnections = 8;

  // Gets the descriptor of a connection, non-blocking, and closes it. Called from the
  // listener's thread.
  using Serve = std::function<void(int connection)>;

  // Replaces what is at `socket`.
  static Result<std::unique_ptr<ControlListener>> listen(const std::string& socket, Serve serve);

  ControlListener(const ControlListener&) = delete;
  ControlListener& operator=(const ControlListener&) = delete;
  // Stops accepting, and removes the socket if it is still the one that listen() made.
  ~ControlListener();

 private:
  // A connection that was handed on.
  struct Connection {
    // Another descriptor of the same connection, to end it with; closed when it has ended.
    UniqueFd handle;
    // Whether whoever serves it has closed it is seen by what this number now stands for.
    int served = -1;
    std::optional<FileIdentity> identity;
  };

  ControlListener(std::string socket, UniqueFd listener, Serve serve);
  void run(const std::stop_token& stop);
  // Waits for a connection or the end of one.
  void wait();
  void forget_closed();
  void accept_one();
  void make_room();

  const std::string socket_;
  const UniqueFd listener_;
  const std::optional<FileIdentity> file_;  // of the socket's name
  const Serve serve_;
  WakeFd wake_;
  // The thread's.
  std::vector<Connection> connections_;  // oldest first
  int pause_ms_ = 0;                     // accepting failed, or there is no room yet; 0: neither
  std::jthread thread_;                  // last: it ends before what it uses
};

}  // namespace tranche::node
