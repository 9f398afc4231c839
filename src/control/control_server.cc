// SPDX-License-Identifier: Apache-2.0
#include "control/control_server.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/errno_error.h"
#include "base/files.h"
#include "control/control_client.h"
#include "control_v1.grpc.pb.h"

namespace tranche {
namespace {

namespace v1 = ::tranche::control::v1;

class Service final : public v1::AgentControl::Service {
 public:
  explicit Service(ControlHandlers handlers) : handlers_(std::move(handlers)) {}

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

  const ControlHandlers handlers_;
};

}  // namespace

struct ControlServer::Parts {
  explicit Parts(ControlHandlers handlers) : service(std::move(handlers)) {}
  Service service;
  std::unique_ptr<grpc::Server> server;
};

std::string control_socket(const std::string& state_dir) {
  return below(state_dir, "control.sock");
}

Result<std::unique_ptr<ControlServer>> ControlServer::start(const std::string& socket,
                                                            ControlHandlers handlers) {
  if (ask_status(socket)) {
    return Error{ErrorCode::kUnavailable, "another agent already answers at " + socket};
  }
  ::unlink(socket.c_str());
  auto parts = std::make_unique<Parts>(std::move(handlers));
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  builder.RegisterService(&parts->service);
  parts->server = builder.BuildAndStart();
  if (!parts->server) {
    return Error{ErrorCode::kUnavailable, "the control socket " + socket + " cannot be made"};
  }
  // Releasing the driver is not everybody's business.
  if (::chmod(socket.c_str(), 0600) != 0) return errno_error("changing the mode of " + socket);
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(parts)));
}

ControlServer::ControlServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ControlServer::~ControlServer() {
  parts_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  parts_->server->Wait();
}

}  // namespace tranche
