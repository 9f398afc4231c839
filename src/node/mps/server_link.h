// SPDX-License-Identifier: Apache-2.0
//
// The folder that daemons have as their PATH: a link nvidia-cuda-mps-server in it leads
// to our program, which becomes the driver root's server (launch.h). Whatever else lay
// there would run as root, so the folder is ours or there is no daemon.
//
// Thread-safe.
#pragma once

#include <string>

#include "base/result.h"

namespace tranche::node {

// `self` is our program's path.
Status make_server_link(const std::string& folder, const std::string& self);

// Where the folder is ours.
void remove_server_link(const std::string& folder, const std::string& self);

}  // namespace tranche::node
