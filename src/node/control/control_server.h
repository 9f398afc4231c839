// SPDX-License-Identifier: Apache-2.0
//
// Serves our own commands on a socket. What they do is the caller's.
//
// It asks itself now and then whether it can be reached by the socket's name, and
// starts again where it cannot: somebody may have removed the socket.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace tranche::node {

// Called from gRPC's threads.
struct ControlHandlers {
  std::function<std::string()> status;
  // Each gives the sentence that the person is told.
  std::function<Result<std::string>(const std::vector<std::string>& gpus)> release;
  std::function<Result<std::string>()> resume;
  std::function<Result<std::string>(const std::vector<std::string>& numbers)> forget_numbers;
};

struct ControlOptions {
  // From one question to itself to the next.
  std::chrono::milliseconds probe_period = std::chrono::seconds(30);
  std::chrono::milliseconds probe_patience = std::chrono::seconds(5);
  // A connection on which nobody has asked anything for so long is closed.
  std::chrono::milliseconds idle = std::chrono::seconds(10);
  // It could not be reached, for this reason, and was started again. Called from the
  // server's own thread.
  std::function<void(const std::string& reason)> restarted = [](const std::string&) {};
};

class ControlServer {
 public:
  // A socket that a dead agent left there is replaced; one that is served is
  // left alone, and an error.
  static Result<std::unique_ptr<ControlServer>> start(const std::string& socket,
                                                      ControlHandlers handlers,
                                                      ControlOptions options = {});

  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  ~ControlServer();

 private:
  struct Life;  // one server, from its start to its end

  ControlServer(std::string socket, ControlHandlers handlers, ControlOptions options);
  Status begin();
  void watch(const std::stop_token& stop);

  const std::string socket_;
  const ControlHandlers handlers_;
  const ControlOptions options_;
  std::unique_ptr<Life> life_;  // the watching thread's once that has begun
  std::jthread thread_;         // last: it ends before what it uses
};

// The socket's place in a state folder.
std::string control_socket(const std::string& state_dir);

}  // namespace tranche::node
