// SPDX-License-Identifier: Apache-2.0
//
// Serves the agent's commands on a socket. The handlers implement them.
//
// Checks periodically that it can be reached by the socket's path, and restarts if not: the socket
// may have been removed.
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
  // Each returns a sentence for the person.
  std::function<Result<std::string>(const std::vector<std::string>& gpus)> release;
  std::function<Result<std::string>()> resume;
  std::function<Result<std::string>(const std::vector<std::string>& numbers)> forget_numbers;
};

struct ControlOptions {
  // Between two checks.
  std::chrono::milliseconds probe_period = std::chrono::seconds(30);
  std::chrono::milliseconds probe_patience = std::chrono::seconds(5);
  // A connection without a call for this time is closed.
  std::chrono::milliseconds idle = std::chrono::seconds(10);
  // Called after a restart with the reason, from the server's own thread.
  std::function<void(const std::string& reason)> restarted = [](const std::string&) {};
};

class ControlServer {
 public:
  // Replaces the socket of an agent that has ended. Error: another agent serves it.
  static Result<std::unique_ptr<ControlServer>> start(const std::string& socket,
                                                      ControlHandlers handlers,
                                                      ControlOptions options = {});

  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  ~ControlServer();

 private:
  struct Life;  // one run of the server

  ControlServer(std::string socket, ControlHandlers handlers, ControlOptions options);
  Status begin();
  void watch(const std::stop_token& stop);

  const std::string socket_;
  const ControlHandlers handlers_;
  const ControlOptions options_;
  std::unique_ptr<Life> life_;  // used by the watching thread once it runs
  std::jthread thread_;         // last: it ends before what it uses
};

// Path of the socket in a state folder.
std::string control_socket(const std::string& state_dir);

}  // namespace tranche::node
