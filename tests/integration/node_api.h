// SPDX-License-Identifier: Apache-2.0
//
// An API server that has one Node, whose labels a test sets, and that takes every write.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kube/testing/scripted_server.h"

namespace tranche::tests {

class NodeApi {
 public:
  explicit NodeApi(std::string node);
  ~NodeApi();
  NodeApi(const NodeApi&) = delete;
  NodeApi& operator=(const NodeApi&) = delete;

  // The Node exists from the first call on.
  void set_labels(std::map<std::string, std::string> labels);
  // A file for --kubeconfig.
  std::string kubeconfig() const;

 private:
  kube::ScriptedAnswer answer(const kube::SeenRequest& request);
  std::string event(const std::string& type) const;

  const std::string node_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::map<std::string, std::string>> labels_;  // guarded by mutex_
  int version_ = 1;                                           // guarded by mutex_
  bool ends_ = false;                                         // guarded by mutex_
  std::optional<kube::ScriptedServer> server_;                // last: its threads use the others
};

}  // namespace tranche::tests
