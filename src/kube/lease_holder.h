// SPDX-License-Identifier: Apache-2.0
//
// Gets a Lease, renews it and gives it up at the end; LeaseElection decides. A call that gets no
// answer lasts no longer than the lease may be counted on, so that the loss is reported in time.
//
// Not thread-safe: run() belongs to one thread, which calls the hooks.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "kube/api_client.h"
#include "kube/lease_election.h"

namespace tranche::kube {

struct LeasePlace {
  std::string space;  // namespace
  std::string name;
};

struct LeaseHooks {
  std::function<void(bool leads)> changed;
  // Why the lease cannot be read or written; empty: it can again. Called when that changes.
  std::function<void(const std::string& problem)> trouble;
  std::function<std::string()> wall;  // the time for the record, as MicroTime
  std::function<double()> chance;     // from 0 to 1
};

class LeaseHolder {
 public:
  LeaseHolder(ApiClient& client, LeasePlace place, const std::string& identity, LeaseTimes times,
              LeaseHooks hooks);

  void run(const std::stop_token& stop);

 private:
  using Clock = LeaseElection::Clock;

  Status step(const std::stop_token& stop);
  Status read(const std::stop_token& stop);
  Status write(const LeaseRecord& record, const std::stop_token& stop);
  Result<Response> send(const Request& request, const std::stop_token& stop);
  std::chrono::milliseconds pause() const;
  void give_up();
  void notify();

  ApiClient& client_;
  const LeasePlace place_;
  const LeaseTimes times_;
  const LeaseHooks hooks_;
  LeaseElection election_;
  Json read_;  // the lease as the server has it, with what others put into it
  bool notified_ = false;
  std::string problem_;
};

}  // namespace tranche::kube
