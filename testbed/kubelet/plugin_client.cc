// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/plugin_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "deviceplugin_v1beta1.grpc.pb.h"
#include "testbed/kubelet/channel.h"
#include "testbed/kubelet/wire.h"

namespace tranche::testbed::standin {
namespace {

using v1beta1::DevicePlugin;

// How often a Register call that was given up is noticed while its plugin is
// being dialled.
constexpr std::chrono::milliseconds kGlance{50};

grpc::Status closed_status() {
  return {grpc::StatusCode::CANCELLED, "grpc: the client connection is closing"};
}

void fill(google::protobuf::RepeatedPtrField<std::string>* field, const IdList& ids) {
  field->Reserve(static_cast<int>(ids.size()));
  for (const std::string& id : ids) *field->Add() = id;
}

}  // namespace

// Puts a call among those that close() ends; gives it the channel.
class PluginClient::Scope {
 public:
  Scope(PluginClient& client, grpc::ClientContext& context) : client_(client), context_(context) {
    const std::lock_guard lock(client_.mutex_);
    channel_ = client_.channel_;
    if (channel_) client_.running_.insert(&context_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    const std::lock_guard lock(client_.mutex_);
    client_.running_.erase(&context_);
    if (client_.stream_ == &context_) client_.stream_ = nullptr;
  }

  // Null when the connection was closed.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  PluginClient& client_;
  grpc::ClientContext& context_;
  std::shared_ptr<grpc::Channel> channel_;
};

PluginClient::PluginClient(std::string resource, const std::string& socket)
    : resource_(std::move(resource)),
      socket_(socket),
      channel_(make_channel(socket, kLargestReceivedMessage)) {}

PluginClient::~PluginClient() { close(); }

std::string PluginClient::endpoint() const { return socket_.substr(socket_.find_last_of('/') + 1); }

Status PluginClient::connect(std::chrono::system_clock::time_point deadline,
                             const std::function<bool()>& is_cancelled) {
  const auto failed = [](std::string_view why) {
    return Error{ErrorCode::kUnavailable, "failed to dial device plugin: " + std::string(why)};
  };
  while (const std::shared_ptr<grpc::Channel> dialled = channel()) {
    const auto now = std::chrono::system_clock::now();
    if (dialled->WaitForConnected(std::min(deadline, now + kGlance))) {
      const std::lock_guard lock(mutex_);
      is_connected_ = true;
      return Done{};
    }
    if (is_cancelled()) break;
    if (now >= deadline) return failed("context deadline exceeded");
  }
  return failed("context canceled");
}

std::shared_ptr<grpc::Channel> PluginClient::channel() {
  const std::lock_guard lock(mutex_);
  return channel_;
}

template <typename Call>
Status PluginClient::run(grpc::ClientContext& context, Call call) {
  const Scope scope(*this, context);
  if (!scope.channel()) return rpc_error(closed_status());
  const auto stub = DevicePlugin::NewStub(scope.channel());
  if (const grpc::Status status = call(*stub); !status.ok()) return rpc_error(status);
  return Done{};
}

Result<PluginOptions> PluginClient::options(std::unique_ptr<grpc::ClientContext> context) {
  v1beta1::DevicePluginOptions options;
  const Status called = run(*context, [&](DevicePlugin::Stub& stub) {
    return stub.GetDevicePluginOptions(context.get(), v1beta1::Empty(), &options);
  });
  if (!called) return called.error();
  return PluginOptions{options.pre_start_required(), options.get_preferred_allocation_available()};
}

Error PluginClient::list_and_watch(const std::function<void(const std::vector<Device>&)>& on_list) {
  grpc::ClientContext context;
  const Scope scope(*this, context);
  if (!scope.channel()) return rpc_error(closed_status());
  {
    const std::lock_guard lock(mutex_);
    stream_ = &context;
  }
  const auto stub = DevicePlugin::NewStub(scope.channel());
  const auto reader = stub->ListAndWatch(&context, v1beta1::Empty());
  v1beta1::ListAndWatchResponse list;
  while (reader->Read(&list)) on_list(from_wire(list));
  const grpc::Status status = reader->Finish();
  // A handler that just returns is the end of file in Go.
  if (status.ok()) return {ErrorCode::kUnavailable, "EOF"};
  return rpc_error(status);
}

Result<IdList> PluginClient::preferred(const IdList& available, const IdList& must_include,
                                       std::int64_t size) {
  v1beta1::PreferredAllocationRequest request;
  v1beta1::ContainerPreferredAllocationRequest* container = request.add_container_requests();
  fill(container->mutable_available_deviceids(), available);
  fill(container->mutable_must_include_deviceids(), must_include);
  container->set_allocation_size(static_cast<std::int32_t>(size));

  grpc::ClientContext context;
  v1beta1::PreferredAllocationResponse response;
  const Status called = run(context, [&](DevicePlugin::Stub& stub) {
    return stub.GetPreferredAllocation(&context, request, &response);
  });
  if (!called) return called.error();
  if (response.container_responses().empty()) return IdList{};
  const auto& ids = response.container_responses(0).deviceids();
  return IdList(ids.begin(), ids.end());
}

Result<std::vector<ContainerResponse>> PluginClient::allocate(const IdList& ids) {
  v1beta1::AllocateRequest request;
  fill(request.add_container_requests()->mutable_devices_ids(), ids);

  grpc::ClientContext context;
  v1beta1::AllocateResponse response;
  const Status called = run(context, [&](DevicePlugin::Stub& stub) {
    return stub.Allocate(&context, request, &response);
  });
  if (!called) return called.error();
  std::vector<ContainerResponse> containers;
  for (const auto& container : response.container_responses()) {
    containers.push_back(from_wire(container));
  }
  return containers;
}

Status PluginClient::pre_start(const IdList& ids, std::chrono::milliseconds patience) {
  v1beta1::PreStartContainerRequest request;
  fill(request.mutable_devices_ids(), ids);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  v1beta1::PreStartContainerResponse response;
  return run(context, [&](DevicePlugin::Stub& stub) {
    return stub.PreStartContainer(&context, request, &response);
  });
}

void PluginClient::disconnect() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_connected_) return;
  }
  close();
}

void PluginClient::close() {
  std::shared_ptr<grpc::Channel> closed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  closed = std::move(channel_);
  for (grpc::ClientContext* context : running_) context->TryCancel();
}

void PluginClient::break_stream() {
  const std::lock_guard lock(mutex_);
  if (stream_ != nullptr) stream_->TryCancel();
}

}  // namespace tranche::testbed::standin
