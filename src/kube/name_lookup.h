// SPDX-License-Identifier: Apache-2.0
//
// The addresses of a name. The resolver's call cannot be ended, and takes a minute where name
// servers are silent; so it runs on a thread that is left behind when it is late.
//
// Not thread-safe: belongs to one client.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/patient_caller.h"

namespace tranche::kube {

class NameLookup {
 public:
  using Addresses = Result<std::vector<std::string>>;
  using Resolve = std::function<Addresses(const std::string& name)>;

  NameLookup();
  explicit NameLookup(Resolve resolve) : resolve_(std::move(resolve)) {}

  // An address is its own answer.
  Addresses find(const std::string& host, std::chrono::steady_clock::time_point deadline,
                 const std::stop_token& stop);

 private:
  const Resolve resolve_;
  PatientCaller caller_;
  StuckCall last_;  // of a lookup that was late
};

}  // namespace tranche::kube
