// SPDX-License-Identifier: Apache-2.0
//
// After the story: what happens on the node is shown as it happens, so that a
// person can break things from another terminal.
#pragma once

#include <string>

#include "base/result.h"
#include "demo/interrupt.h"
#include "demo/screen.h"
#include "demo/stage.h"

namespace tranche::demo {

// What can be typed elsewhere; `simulator` is the tranche-sim binary.
void show_what_to_type(const Stage& stage, const std::string& simulator, Screen& screen);

// Until the person ends it, or the agent ends, which is an error.
Status watch_node(Stage& stage, Interrupt& interrupt, Screen& screen);

}  // namespace tranche::demo
