// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/channel.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>

#include <string_view>

namespace tranche::testbed::standin {
namespace {

// gRPC reads the path of "unix:" as a part of a URI.
std::string unix_target(const std::string& path) {
  constexpr std::string_view kPlain = "-_.~/";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string target = "unix:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos;
    if (is_plain) {
      target += c;
    } else {
      target += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return target;
}

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const std::string& socket, int largest_received) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(largest_received);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  // Otherwise two channels to one socket share a connection, which the
  // kubelet's never do.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(unix_target(socket), grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace tranche::testbed::standin
