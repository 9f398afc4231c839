// SPDX-License-Identifier: Apache-2.0
//
// A node with pods: the agent as a process, and the kubelet's stand-in, which tells it by the
// pod-resources service and the checkpoint what each pod holds.
//
// Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/child.h"
#include "bench/scenario.h"
#include "testbed/kubelet/kubelet.h"

namespace tranche::bench {

class PodNode {
 public:
  // Returns when all pods have their share. `folder` is its own, `flags` are added to the agent's
  // command line.
  static Result<std::unique_ptr<PodNode>> start(const std::string& agent,
                                                const ApiScenario& scenario,
                                                const std::string& folder,
                                                const std::vector<std::string>& flags);

  pid_t pid() const { return child_.pid(); }
  // What the agent logged, for the message of a failure.
  std::string output() const;
  Status stop();

 private:
  PodNode(std::unique_ptr<standin::Kubelet> kubelet, Child child, std::string output);
  Status admit(int pods);

  const std::unique_ptr<standin::Kubelet> kubelet_;
  Child child_;  // last: it ends first
  const std::string output_;
};

}  // namespace tranche::bench
