// SPDX-License-Identifier: Apache-2.0
//
// Finds open connections on a socket that this process serves; gRPC does not report them.
#pragma once

#include <chrono>
#include <string>

namespace tranche::node {

// Whether this process has an accepted connection on the unix socket at `path`.
bool has_peer(const std::string& path);

// Waits until it has none. False: one is left after `patience`.
bool wait_for_no_peer(const std::string& path, std::chrono::milliseconds patience);

}  // namespace tranche::node
