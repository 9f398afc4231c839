// SPDX-License-Identifier: Apache-2.0
//
// How to serve real GPUs on the machine that the demo runs on.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::demo {

struct RealNode {
  // The root that the driver's library lies below: "/", or that of a driver
  // container. Empty: no driver was found.
  std::string driver_root;
  enum class Kubelet { kAbsent, kHidden, kPresent };
  Kubelet kubelet = Kubelet::kAbsent;  // hidden: we may not look

  bool operator==(const RealNode&) const = default;
};

// Looks whether files exist, below `root`; opens and calls nothing.
RealNode look_for_real_node(const std::string& root = "/");

struct Advice {
  std::string text;
  std::string command;  // empty: none

  bool operator==(const Advice&) const = default;
};

// Pure. `agent` is the binary to name.
std::vector<Advice> how_to_serve(const RealNode& node, const std::string& agent);

}  // namespace tranche::demo
