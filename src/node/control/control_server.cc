// SPDX-License-Identifier: Apache-2.0
#include "node/control/control_server.h"

#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <utility>

#include "base/path.h"
#include "control_v1.grpc.pb.h"
#include "node/control/agent_client.h"
#include "node/control/control_listener.h"
#include "os/worker.h"

namespace tranche::node {
namespace {

namespace v1 = ::tranche::control::v1;

class Service final : public v1::AgentControl::Service {
 public:
  explicit Service(const ControlHandlers& handlers) : handlers_(handlers) {}

  grpc::Status Ping(grpc::ServerContext*, const v1::PingRequest*, v1::PingReply*) override {
    return grpc::Status::OK;
  }

  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*,
                      v1::StatusReply* reply) override {
    reply->set_json(handlers_.status());
    return grpc::Status::OK;
  }

  grpc::Status Release(grpc::ServerContext*, const v1::ReleaseRequest* request,
                       v1::ControlReply* reply) override {
    return answer(handlers_.release({request->gpus().begin(), request->gpus().end()}), reply);
  }

  grpc::Status Resume(grpc::ServerContext*, const v1::ResumeRequest*,
                      v1::ControlReply* reply) override {
    return answer(handlers_.resume(), reply);
  }

  grpc::Status ForgetNumbers(grpc::ServerContext*, const v1::ForgetNumbersRequest* request,
                             v1::ControlReply* reply) override {
    return answer(handlers_.forget_numbers({request->numbers().begin(), request->numbers().end()}),
                  reply);
  }

 private:
  static grpc::Status answer(const Result<std::string>& result, v1::ControlReply* reply) {
    if (!result) return {grpc::StatusCode::INVALID_ARGUMENT, result.error().message};
    reply->set_message(*result);
    return grpc::Status::OK;
  }

  const ControlHandlers& handlers_;
};

// Checks that a server answers at the socket.
Status ping(const std::string& socket, std::chrono::milliseconds patience,
            const std::stop_token& stop) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1::AgentControl::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
  v1::PingReply reply;
  const grpc::Status status = stub->Ping(&context, {}, &reply);
  // UNIMPLEMENTED is an answer, too: of an older agent.
  if (status.ok() || status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return Done{};
  return Error{ErrorCode::kUnavailable, status.error_message()};
}

std::unique_ptr<grpc::Server> make_server(Service& service, std::chrono::milliseconds idle) {
  grpc::ServerBuilder builder;
  // Requests have only names of GPUs.
  builder.SetMaxReceiveMessageSize(1 << 20);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(idle.count()));
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

}  // namespace

struct ControlServer::Life {
  explicit Life(const ControlHandlers& handlers) : service(handlers) {}
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life() {
    listener.reset();  // no more connections
    if (!server) return;
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    server->Wait();
  }

  Service service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<ControlListener> listener;
};

std::string control_socket(const std::string& state_dir) {
  return below(state_dir, "control.sock");
}

Result<std::unique_ptr<ControlServer>> ControlServer::start(const std::string& socket,
                                                            ControlHandlers handlers,
                                                            ControlOptions options) {
  if (ask_status(socket)) {
    return Error{ErrorCode::kUnavailable, "another agent already answers at " + socket};
  }
  std::unique_ptr<ControlServer> server(
      new ControlServer(socket, std::move(handlers), std::move(options)));
  if (Status begun = server->begin(); !begun) return begun.error();
  server->thread_ =
      std::jthread([raw = server.get()](const std::stop_token& stop) { raw->watch(stop); });
  return server;
}

ControlServer::ControlServer(std::string socket, ControlHandlers handlers, ControlOptions options)
    : socket_(std::move(socket)), handlers_(std::move(handlers)), options_(std::move(options)) {}

ControlServer::~ControlServer() = default;

Status ControlServer::begin() {
  auto life = std::make_unique<Life>(handlers_);
  life->server = make_server(life->service, options_.idle);
  if (!life->server) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("cannot serve the control socket {}", socket_)};
  }
  auto listener = ControlListener::listen(socket_, [server = life->server.get()](int connection) {
    grpc::AddInsecureChannelFromFd(server, connection);
  });
  if (!listener) return listener.error();
  life->listener = *std::move(listener);
  life_ = std::move(life);
  return Done{};
}

void ControlServer::watch(const std::stop_token& stop) {
  while (true) {
    sleep_unless_stopped(stop, options_.probe_period);
    if (stop.stop_requested()) return;
    const Status reached = ping(socket_, options_.probe_patience, stop);
    if (reached || stop.stop_requested()) continue;
    life_.reset();
    const Status begun = begin();
    options_.restarted(reached.error().message +
                       (begun ? "" : "; restarting failed: " + begun.error().message));
  }
}

}  // namespace tranche::node
