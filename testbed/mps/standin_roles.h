// SPDX-License-Identifier: Apache-2.0
//
// The stand-in's other roles than the daemon's.
#pragma once

#include <string>

namespace tranche::testbed::mps_standin {

std::string pipe_folder();
int run_server();
// The control program: a command a line.
int run_client();

}  // namespace tranche::testbed::mps_standin
