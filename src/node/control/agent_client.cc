// SPDX-License-Identifier: Apache-2.0
#include "node/control/agent_client.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>

#include "control_v1.grpc.pb.h"

namespace tranche::node {
namespace {

namespace v1 = ::tranche::control::v1;

constexpr std::chrono::seconds kPatience{10};
// The agent itself waits for the driver.
constexpr std::chrono::seconds kDriverPatience{40};

// Also avoids a channel's connect pause if the socket does not exist.
Status check_socket(const std::string& socket) {
  if (::faccessat(AT_FDCWD, socket.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return Done{};
  if (errno == EACCES) {
    return Error{ErrorCode::kInternal,
                 fmt::format("permission denied: only root may use {}; run this as root, or with "
                             "kubectl exec in the agent's pod on this node",
                             socket)};
  }
  return Error{ErrorCode::kUnavailable,
               fmt::format("no agent runs here: {} does not exist", socket)};
}

// Makes one call; `Call` is the stub's method.
template <typename Reply, typename Request, typename Call>
Result<Reply> ask(const std::string& socket, const Request& request, Call call,
                  std::chrono::seconds patience = kPatience) {
  if (const Status reachable = check_socket(socket); !reachable) return reachable.error();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  const auto stub = v1::AgentControl::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  Reply reply;
  const grpc::Status status = (stub.get()->*call)(&context, request, &reply);
  if (status.ok()) return reply;
  if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
    return Error{ErrorCode::kInvalidArgument, status.error_message()};
  }
  const bool none_runs = status.error_code() == grpc::StatusCode::UNAVAILABLE;
  return Error{none_runs ? ErrorCode::kUnavailable : ErrorCode::kInternal,
               fmt::format("no agent answers at {}: {}", socket, status.error_message())};
}

Result<std::string> message_of(const Result<v1::ControlReply>& reply) {
  if (!reply) return reply.error();
  return reply->message();
}

}  // namespace

Result<std::string> ask_status(const std::string& socket) {
  const auto reply =
      ask<v1::StatusReply>(socket, v1::StatusRequest{}, &v1::AgentControl::Stub::Status);
  if (!reply) return reply.error();
  return reply->json();
}

Result<std::string> ask_release(const std::string& socket, const std::vector<std::string>& gpus) {
  v1::ReleaseRequest request;
  for (const std::string& gpu : gpus) request.add_gpus(gpu);
  return message_of(
      ask<v1::ControlReply>(socket, request, &v1::AgentControl::Stub::Release, kDriverPatience));
}

Result<std::string> ask_resume(const std::string& socket) {
  return message_of(ask<v1::ControlReply>(socket, v1::ResumeRequest{},
                                          &v1::AgentControl::Stub::Resume, kDriverPatience));
}

Result<std::string> ask_forget_numbers(const std::string& socket,
                                       const std::vector<std::string>& numbers) {
  v1::ForgetNumbersRequest request;
  for (const std::string& number : numbers) request.add_numbers(number);
  return message_of(ask<v1::ControlReply>(socket, request, &v1::AgentControl::Stub::ForgetNumbers));
}

}  // namespace tranche::node
