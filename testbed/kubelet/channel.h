// SPDX-License-Identifier: Apache-2.0
//
// A gRPC channel to a unix socket, with a connection of its own.
#pragma once

#include <memory>
#include <string>

namespace grpc {
class Channel;
}  // namespace grpc

namespace tranche::testbed::standin {

inline constexpr int kUnlimitedMessage = -1;

// The authority is "localhost", as Go's. `largest_received` is in bytes.
std::shared_ptr<grpc::Channel> make_channel(const std::string& socket, int largest_received);

}  // namespace tranche::testbed::standin
