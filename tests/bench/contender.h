// SPDX-License-Identifier: Apache-2.0
//
// The agent or the floor as a running process, registered and listened to. It
// measures what happens on the way there.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/child.h"
#include "bench/raw_client.h"

namespace tranche::bench {

struct Program {
  std::vector<std::string> command;
  // Its own: the kubelet's socket is made there, and the output goes there.
  std::string folder;
};

// Where a program of this folder is to register.
std::string kubelet_socket(const std::string& folder);

class Contender {
 public:
  // Returns when the first list has come.
  static Result<std::unique_ptr<Contender>> start(const Program& program);

  std::chrono::nanoseconds start_to_registered() const { return start_to_registered_; }
  std::chrono::nanoseconds registered_to_list() const { return registered_to_list_; }
  const grpc::ByteBuffer& list() const { return list_; }
  RawClient& client() { return *client_; }
  pid_t pid() const { return child_.pid(); }

  // SIGTERM to the end of the process, with its streams open until it ends them.
  Result<std::chrono::nanoseconds> stop();

 private:
  explicit Contender(Child child) : child_(std::move(child)) {}

  Child child_;
  std::unique_ptr<RawClient> client_;
  std::chrono::nanoseconds start_to_registered_{};
  std::chrono::nanoseconds registered_to_list_{};
  grpc::ByteBuffer list_;
};

}  // namespace tranche::bench
