// SPDX-License-Identifier: Apache-2.0
//
// The devices that the CDI specifications on disk resolve.
#pragma once

#include <map>
#include <set>
#include <string>

namespace tranche::core {

struct CdiState {
  // Class to the names of correctly resolved devices.
  std::map<std::string, std::set<std::string>> devices;
  // From the plan: missing devices, and why.
  std::map<std::string, std::string> left_out;
  // Why the files are not as planned (disk full, read-only); empty if they are.
  std::string problem;

  bool operator==(const CdiState&) const = default;
};

}  // namespace tranche::core
