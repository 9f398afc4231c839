// SPDX-License-Identifier: Apache-2.0
//
// Client of the kubelet's pod-resources service. It only translates; call_gate.h decides when List
// may be called.
//
// Each call makes its own connection: a kept one would still be in gRPC's reconnect pause while the
// restarted kubelet already listens.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/ledger/ledger.h"

namespace v1 {
class PodResources;
}  // namespace v1

namespace tranche::node {

class PodResourcesClient {
 public:
  static constexpr std::chrono::seconds kPatience{5};

  // An answer takes at most `patience` and has at most 64 MiB, whatever the kubelet does.
  explicit PodResourcesClient(std::string socket, std::chrono::milliseconds patience = kPatience)
      : socket_(std::move(socket)), patience_(patience) {}

  const std::string& socket() const { return socket_; }

  // Holdings of these resources, of all if none is named; sorted. kUnavailable: the kubelet cannot
  // be reached or does not answer in time.
  Result<std::vector<Holding>> list(const std::set<std::string>& resources,
                                    const std::stop_token& stop = {}) const;

  // Holdings of one pod, without the side effects of List. kNotFound: the kubelet does not know the
  // pod. kInvalidArgument: this kubelet has no Get, which came with Kubernetes 1.27 and is behind a
  // feature gate up to 1.35.
  Result<std::vector<Holding>> get(const std::string& pod_namespace, const std::string& pod,
                                   const std::set<std::string>& resources,
                                   const std::stop_token& stop = {}) const;

 private:
  const std::string socket_;
  const std::chrono::milliseconds patience_;
};

// Adds what the containers of the pod hold of these resources.
void add_holdings(const v1::PodResources& pod, const std::set<std::string>& resources,
                  std::vector<Holding>& holdings);

}  // namespace tranche::node
