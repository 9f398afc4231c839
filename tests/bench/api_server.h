// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for the API server, over TLS: one Node that can be watched, and what the agent
// writes. Counts the writes. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "bench/api_objects.h"
#include "kube/testing/scripted_server.h"

namespace tranche::bench {

// Requests that change something.
struct ApiWrites {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of their bodies
};

class ApiServer {
 public:
  explicit ApiServer(const std::string& node);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Writes a kubeconfig and what it names into the folder; the path for --kubeconfig.
  Result<std::string> write_kubeconfig(const std::string& folder) const;

  // Waits until the GpuNode has so many holders, and the Node labels and a condition.
  Status wait_until_reported(std::size_t holders, std::chrono::milliseconds patience);
  // As the kubelet does every five minutes: the watch sends the whole Node again.
  void refresh_node();
  ApiWrites writes() const;

 private:
  kube::ScriptedAnswer answer(const kube::SeenRequest& request);
  kube::ScriptedAnswer watch(const std::string& target);
  std::string next_event(int& seen);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ApiObjects objects_;                          // guarded by mutex_
  ApiWrites writes_;                            // guarded by mutex_
  std::string unknown_;                         // guarded by mutex_; a request that was refused
  bool ends_ = false;                           // guarded by mutex_
  std::optional<kube::ScriptedServer> server_;  // last: its threads use the others
};

}  // namespace tranche::bench
