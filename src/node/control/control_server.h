// SPDX-License-Identifier: Apache-2.0
//
// Serves our own commands on a socket. What they do is the caller's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace tranche {

// Called from gRPC's threads.
struct ControlHandlers {
  std::function<std::string()> status;
  // Each gives the sentence that the person is told.
  std::function<Result<std::string>(const std::vector<std::string>& gpus)> release;
  std::function<Result<std::string>()> resume;
  std::function<Result<std::string>(const std::vector<std::string>& numbers)> forget_numbers;
};

class ControlServer {
 public:
  // A socket that a dead agent left there is replaced; one that is served is
  // left alone, and an error.
  static Result<std::unique_ptr<ControlServer>> start(const std::string& socket,
                                                      ControlHandlers handlers);

  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  ~ControlServer();

 private:
  struct Parts;
  explicit ControlServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// The socket's place in a state folder.
std::string control_socket(const std::string& state_dir);

}  // namespace tranche
