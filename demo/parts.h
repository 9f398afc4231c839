// SPDX-License-Identifier: Apache-2.0
//
// The files of the build that the demo uses. They are found from the demo's own
// file, so that a build that was moved, or copied to where its owner's folder is
// closed to others, works as well.
#pragma once

#include <string>

namespace tranche::demo {

struct Parts {
  std::string agent;           // tranche-device-plugin
  std::string simulator;       // tranche-sim
  std::string driver_library;  // the simulated libnvidia-ml.so.1

  bool operator==(const Parts&) const = default;
};

// `program` is the absolute path of the demo.
Parts parts_of(const std::string& program);

// Of the demo that runs.
Parts parts_of_this_program();

}  // namespace tranche::demo
