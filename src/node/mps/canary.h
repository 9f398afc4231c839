// SPDX-License-Identifier: Apache-2.0
//
// The canary: a CUDA client that creates a context and allocates 1 MiB on every visible device. The
// control program answers even while new clients hang, so only a client can tell whether clients
// are served.
//
// It is our own program in a separate process (`mps-canary [LIBCUDA]`): a driver call may never
// return, and a process can be killed. Exit codes: control_words.h. Prints failures to standard
// output.
#pragma once

#include <string>

namespace tranche::node {

// The exit code: control_words.h. What went wrong is on standard output.
int run_mps_canary(const std::string& libcuda);

}  // namespace tranche::node
