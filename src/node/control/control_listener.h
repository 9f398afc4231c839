// SPDX-License-Identifier: Apache-2.0
//
// Listens on the control socket and passes its connections on. gRPC 1.51 stops accepting for good
// once it ran out of descriptors, and has no limit on connections. The limit here keeps clients
// from taking the descriptors that the kubelet's sockets need.
//
// Only root and the agent's own user may connect: the socket's mode is 0600 from the start, and the
// peer's user is checked.
//
// Has its own thread.
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
  // For people and a few monitoring programs.
  static constexpr std::size_t kMostConnections = 8;

  // Takes over the descriptor of a connection, non-blocking. Called from the listener's thread.
  using Serve = std::function<void(int connection)>;

  // Replaces what is at `socket`.
  static Result<std::unique_ptr<ControlListener>> listen(const std::string& socket, Serve serve);

  ControlListener(const ControlListener&) = delete;
  ControlListener& operator=(const ControlListener&) = delete;
  // Stops accepting, and removes the socket if it is still that of listen().
  ~ControlListener();

 private:
  struct Connection {
    // Our own descriptor of the connection, to end it; closed when it has ended.
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
  // Used by the thread only.
  std::vector<Connection> connections_;  // oldest first
  int pause_ms_ = 0;                     // while accepting fails or there is no room
  std::jthread thread_;                  // last: it ends before what it uses
};

}  // namespace tranche::node
