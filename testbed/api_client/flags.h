// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::testbed::api_client {

struct Flags {
  std::string kubeconfig;
  std::string token_file;  // in place of the kubeconfig's credentials
  std::string watch;
  std::string lease;
  std::string identity;
  unsigned lease_seconds = 15;
  unsigned wall_behind = 0;  // seconds
  bool events = false;
  bool help = false;
};

Result<Flags> parse_flags(const std::vector<std::string>& words);
std::string usage();

}  // namespace tranche::testbed::api_client
