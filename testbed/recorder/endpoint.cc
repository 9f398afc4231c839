// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/endpoint.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "deviceplugin_v1beta1.grpc.pb.h"
#include "testbed/kubelet/channel.h"

namespace tranche::testbed::recorder {
namespace {

using grpc::ClientContext;
using grpc::ServerContext;
using v1beta1::DevicePlugin;

// The kubelet dials for so long before its first call. It has reached us at
// once, so that we wait for the plugin in its stead.
constexpr std::chrono::seconds kDialPatience{10};
// How often a call that was given up is noticed meanwhile.
constexpr std::chrono::milliseconds kGlance{50};

void wait_for_plugin(grpc::Channel& channel, const ServerContext& context) {
  using std::chrono::system_clock;
  const auto deadline = std::min(context.deadline(), system_clock::now() + kDialPatience);
  while (!context.IsCancelled() && system_clock::now() < deadline) {
    if (channel.WaitForConnected(std::min(deadline, system_clock::now() + kGlance))) return;
  }
}

}  // namespace

class Endpoint::Forwarder final : public DevicePlugin::Service {
 public:
  Forwarder(const Names& names, Recording& recording)
      : head_(
            {{"resource", names.resource}, {"endpoint", names.endpoint}, {"socket", names.socket}}),
        recording_(recording),
        channel_(standin::make_channel(names.plugin_socket, standin::kUnlimitedMessage)),
        stub_(DevicePlugin::NewStub(channel_)) {}

  void set_end(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = why;
  }

 private:
  using List = v1beta1::ListAndWatchResponse;

  grpc::Status GetDevicePluginOptions(ServerContext* context, const v1beta1::Empty* request,
                                      v1beta1::DevicePluginOptions* response) override {
    return forward("GetDevicePluginOptions", *request, *response, [&] {
      wait_for_plugin(*channel_, *context);
      const auto onward = ClientContext::FromServerContext(*context);
      return stub_->GetDevicePluginOptions(onward.get(), *request, response);
    });
  }

  grpc::Status GetPreferredAllocation(ServerContext* context,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    return forward("GetPreferredAllocation", *request, *response, [&] {
      const auto onward = ClientContext::FromServerContext(*context);
      return stub_->GetPreferredAllocation(onward.get(), *request, response);
    });
  }

  grpc::Status Allocate(ServerContext* context, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    return forward("Allocate", *request, *response, [&] {
      const auto onward = ClientContext::FromServerContext(*context);
      return stub_->Allocate(onward.get(), *request, response);
    });
  }

  grpc::Status PreStartContainer(ServerContext* context,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse* response) override {
    return forward("PreStartContainer", *request, *response, [&] {
      const auto onward = ClientContext::FromServerContext(*context);
      return stub_->PreStartContainer(onward.get(), *request, response);
    });
  }

  grpc::Status ListAndWatch(ServerContext* context, const v1beta1::Empty* request,
                            grpc::ServerWriter<List>* lists) override {
    recording_.add(event("ListAndWatchOpened"));
    const auto onward = ClientContext::FromServerContext(*context);
    const auto reader = stub_->ListAndWatch(onward.get(), *request);
    List list;
    while (reader->Read(&list)) {
      const Recording::Place place = recording_.begin();
      Json received = event("ListAndWatchReceived");
      received["devices"] = devices(list);
      const bool is_passed_on = lists->Write(list);
      if (!is_passed_on) received["passed_on"] = false;
      recording_.finish(place, received);
      if (!is_passed_on) onward->TryCancel();
    }
    const grpc::Status status = reader->Finish();
    record_end(context->IsCancelled(), status);
    return status;
  }

  template <typename Request, typename Response, typename Call>
  grpc::Status forward(const char* name, const Request& request, Response& response, Call call) {
    const Recording::Place place = recording_.begin();
    Json made = event(name);
    made.update(question(request));
    const grpc::Status status = call();
    if (status.ok()) {
      made["answer"] = answer(response);
    } else {
      made["error"] = error(status);
    }
    recording_.finish(place, made);
    return status;
  }

  void record_end(bool is_cancelled, const grpc::Status& status) {
    Json ended = event("ListAndWatchEnded");
    const std::string why = this->why();
    if (!is_cancelled) {
      ended["by"] = "plugin";
      if (!status.ok()) ended["error"] = error(status);
    } else if (why.empty()) {
      ended["by"] = "kubelet";
    } else {
      ended["by"] = "recorder";
      ended["why"] = why;
    }
    recording_.add(ended);
  }

  Json event(const char* name) const {
    Json value = {{"call", name}};
    value.update(head_);
    return value;
  }

  std::string why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

  const Json head_;
  Recording& recording_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<DevicePlugin::Stub> stub_;
  mutable std::mutex mutex_;
  std::string why_;  // guarded by mutex_; empty: not ended by us
};

Result<std::unique_ptr<Endpoint>> Endpoint::open(const Names& names, Recording& recording) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(names));
  endpoint->forwarder_ = std::make_unique<Forwarder>(names, recording);
  auto server = standin::SocketServer::listen(names.own_socket, *endpoint->forwarder_,
                                              standin::kUnlimitedMessage);
  if (!server) return server.error();
  endpoint->server_ = *std::move(server);
  return endpoint;
}

Endpoint::Endpoint(const Names& names)
    : plugin_socket_(names.plugin_socket), identity_(file_identity(names.plugin_socket)) {}

Endpoint::~Endpoint() { end("the registration is over"); }

bool Endpoint::has_lost_plugin() const {
  return identity_ && file_identity(plugin_socket_) != identity_;
}

void Endpoint::retire() { server_->stop_listening(standin::SocketFile::kRemoved); }

void Endpoint::end(const std::string& why) {
  if (!server_) return;
  forwarder_->set_end(why);
  server_->stop(standin::SocketFile::kRemoved);
}

}  // namespace tranche::testbed::recorder
