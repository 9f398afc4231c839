// SPDX-License-Identifier: Apache-2.0
//
// Who is connected to a socket of ours. gRPC does not say.
#pragma once

#include <chrono>
#include <string>

namespace tranche::node {

// Whether this process has an accepted connection on the unix socket that it
// serves at `path`.
bool has_peer(const std::string& path);

// Waits until it has none. False: there still is one when patience is over.
bool wait_for_no_peer(const std::string& path, std::chrono::milliseconds patience);

}  // namespace tranche::node
