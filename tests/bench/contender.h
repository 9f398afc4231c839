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

  // The kubelet ends and another one starts: from its socket being there to the
  // program's call. Returns when the list has come to the new one.
  Result<std::chrono::nanoseconds> restart_kubelet();

  // SIGTERM to the end of the process, with its streams open until it ends them.
  Result<std::chrono::nanoseconds> stop();

 private:
  Contender(Child child, Program program)
      : child_(std::move(child)), program_(std::move(program)) {}
  // Its name and its output, for the message of a failure.
  std::string said() const;
  // As a kubelet does: it dials the plugin and opens the stream.
  Status listen_to(const std::string& endpoint);

  Child child_;
  const Program program_;
  std::unique_ptr<RawClient> client_;
  std::chrono::nanoseconds start_to_registered_{};
  std::chrono::nanoseconds registered_to_list_{};
  grpc::ByteBuffer list_;
};

}  // namespace tranche::bench
