// SPDX-License-Identifier: Apache-2.0
//
// The story that the demo tells, step by step. Each step does something, waits
// for its real effect, and shows what agent and kubelet said of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/screen.h"
#include "demo/stage.h"

namespace tranche::demo {

struct Step {
  std::string title;
  std::function<Status(Stage&, Screen&)> play;
};

std::vector<Step> story();

}  // namespace tranche::demo
