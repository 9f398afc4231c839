// SPDX-License-Identifier: Apache-2.0
//
// The folder in the daemons' PATH: its link nvidia-cuda-mps-server leads to our program, which
// becomes the driver root's server (launch.h). Anything else in it would run as root, so without a
// folder of our own there is no daemon.
//
// Thread-safe.
#pragma once

#include <string>

#include "base/result.h"

namespace tranche::node {

// `self` is our program's path.
Status make_server_link(const std::string& folder, const std::string& self);

// Only if the folder is ours.
void remove_server_link(const std::string& folder, const std::string& self);

}  // namespace tranche::node
