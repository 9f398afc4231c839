// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/registration_server.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "deviceplugin_v1beta1.grpc.pb.h"

namespace tranche::testbed::standin {
namespace {

class Call final : public grpc::ServerUnaryReactor, public PendingRegistration {
 public:
  Call(grpc::CallbackServerContext& context, const v1beta1::RegisterRequest& request)
      : context_(context) {
    resource = request.resource_name();
    endpoint = request.endpoint();
    version = request.version();
  }

  void answer(const std::optional<std::string>& refusal) override {
    // A Go handler's plain error has the code Unknown.
    Finish(refusal ? grpc::Status(grpc::StatusCode::UNKNOWN, *refusal) : grpc::Status::OK);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_done_; });
  }

  bool is_cancelled() const override { return context_.IsCancelled(); }

  std::chrono::system_clock::time_point deadline() const override { return context_.deadline(); }

  std::unique_ptr<grpc::ClientContext> child_context() const override {
    return grpc::ClientContext::FromCallbackServerContext(context_);
  }

  // Lets gRPC's own reference go only when gRPC is done with the object.
  void hold(std::shared_ptr<Call> self) { self_ = std::move(self); }

 private:
  void OnDone() override {
    const std::shared_ptr<Call> last = std::move(self_);
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_all();
  }

  grpc::CallbackServerContext& context_;
  std::shared_ptr<Call> self_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;  // guarded by mutex_
};

}  // namespace

class RegistrationServer::Service final : public v1beta1::Registration::CallbackService {
 public:
  explicit Service(Handler handler) : handler_(std::move(handler)) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1beta1::RegisterRequest* request,
                                     v1beta1::Empty* /*response*/) override {
    auto call = std::make_shared<Call>(*context, *request);
    call->hold(call);
    handler_(call);
    return call.get();
  }

 private:
  const Handler handler_;
};

Result<std::unique_ptr<RegistrationServer>> RegistrationServer::listen(const std::string& path,
                                                                       Handler handler) {
  auto service = std::make_unique<Service>(std::move(handler));
  Result<std::unique_ptr<SocketServer>> server = SocketServer::listen(path, *service);
  if (!server) return server.error();
  return std::unique_ptr<RegistrationServer>(
      new RegistrationServer(std::move(service), *std::move(server)));
}

RegistrationServer::RegistrationServer(std::unique_ptr<Service> service,
                                       std::unique_ptr<SocketServer> server)
    : service_(std::move(service)), server_(std::move(server)) {}

RegistrationServer::~RegistrationServer() { stop(SocketFile::kRemoved); }

void RegistrationServer::stop(SocketFile file) { server_->stop(file); }

}  // namespace tranche::testbed::standin
