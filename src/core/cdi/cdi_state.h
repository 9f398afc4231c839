// SPDX-License-Identifier: Apache-2.0
//
// What the CDI specifications on disk resolve.
#pragma once

#include <map>
#include <set>
#include <string>

namespace tranche::core {

struct CdiState {
  // Class to the names of devices that resolve to what they should.
  std::map<std::string, std::set<std::string>> devices;
  // From the plan: what has no device, and why.
  std::map<std::string, std::string> left_out;
  // Why files are not as planned (disk full, read-only); empty when they are.
  std::string problem;

  bool operator==(const CdiState&) const = default;
};

}  // namespace tranche::core
