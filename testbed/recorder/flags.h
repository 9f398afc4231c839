// SPDX-License-Identifier: Apache-2.0
//
// The command line of kubelet-recorder. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "testbed/recorder/recorder.h"

namespace tranche::testbed::recorder {

struct Flags {
  Recorder::Options recorder;
  std::string transcript;
  bool help = false;
};
Result<Flags> parse_flags(const std::vector<std::string>& arguments);
std::string usage();

}  // namespace tranche::testbed::recorder
