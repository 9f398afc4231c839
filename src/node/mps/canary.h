// SPDX-License-Identifier: Apache-2.0
//
// The canary: a CUDA client that asks for a context and 1 MiB on every device
// it sees, and gives them back. The control program answers cheerfully while
// new clients hang, so only a client can tell whether clients get through.
//
// It is our own program, run as a process of its own (`mps-canary [LIBCUDA]`):
// a driver call may never return, and whoever waits for it can kill a process.
#pragma once

#include <string>

namespace tranche::node {

// The exit code: control_words.h. What went wrong is on standard output.
int run_mps_canary(const std::string& libcuda);

}  // namespace tranche::node
