// SPDX-License-Identifier: Apache-2.0
#include "standin/registration_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/errno_error.h"
#include "deviceplugin_v1beta1.grpc.pb.h"

namespace tranche::standin {
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

Result<UniqueFd> listen_on(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Error{ErrorCode::kInvalidArgument, "listening on " + path + ": the path is too long"};
  }
  std::ranges::copy(path, std::begin(address.sun_path));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error("socket");
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the API's way
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return errno_error("listening on " + path);
  }
  if (::listen(fd.get(), SOMAXCONN) != 0) return errno_error("listening on " + path);
  return fd;
}

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
  Result<UniqueFd> listener = listen_on(path);
  if (!listener) return listener.error();
  return std::unique_ptr<RegistrationServer>(
      new RegistrationServer(path, std::move(*listener), std::move(handler)));
}

RegistrationServer::RegistrationServer(std::string path, UniqueFd listener, Handler handler)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      service_(std::make_unique<Service>(std::move(handler))) {
  // Without this the library shuts down with the last object that uses it, and
  // that waits up to ten seconds for a poller which a large message started.
  grpc_init();
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  acceptor_ = std::thread([this] { accept_until_woken(); });
}

RegistrationServer::~RegistrationServer() { stop(SocketFile::kRemoved); }

void RegistrationServer::accept_until_woken() {
  std::array<pollfd, 2> waited = {{{listener_.get(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}}};
  while (true) {
    if (::poll(waited.data(), waited.size(), -1) < 0) continue;  // interrupted
    if (waited[1].revents != 0) return;
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) grpc::AddInsecureChannelFromFd(server_.get(), fd);
  }
}

void RegistrationServer::stop(SocketFile file) {
  if (!acceptor_.joinable()) return;
  wake_.ring();
  acceptor_.join();
  listener_.reset();
  if (file == SocketFile::kRemoved) ::unlink(path_.c_str());
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace tranche::standin
