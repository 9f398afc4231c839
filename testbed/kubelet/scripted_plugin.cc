// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/scripted_plugin.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace tranche::testbed::standin {
namespace {

// How soon a stream notices that its client is gone.
constexpr std::chrono::milliseconds kPatience{20};

v1beta1::ListAndWatchResponse message_of(const std::vector<Device>& devices) {
  v1beta1::ListAndWatchResponse message;
  for (const Device& device : devices) {
    v1beta1::Device* added = message.add_devices();
    added->set_id(device.id);
    added->set_health(device.health);
    for (const std::int64_t node : device.numa_nodes) {
      added->mutable_topology()->add_nodes()->set_id(node);
    }
  }
  return message;
}

}  // namespace

std::vector<Device> healthy_devices(int count) {
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) devices.push_back({"id" + std::to_string(i), "Healthy", {}});
  return devices;
}

ScriptedPlugin::ScriptedPlugin(const std::string& directory, std::string endpoint)
    : ScriptedPlugin(directory, std::move(endpoint), Script{}) {}

ScriptedPlugin::ScriptedPlugin(const std::string& directory, std::string endpoint, Script script)
    : directory_(directory), endpoint_(std::move(endpoint)), script_(std::move(script)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + directory_ + "/" + endpoint_,
                           grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(64 << 20);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (!server_) std::abort();
}

ScriptedPlugin::~ScriptedPlugin() { server_->Shutdown(std::chrono::system_clock::now()); }

grpc::Status ScriptedPlugin::register_as(const std::string& resource, const std::string& version) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1beta1::Registration::NewStub(grpc::CreateCustomChannel(
      "unix:" + directory_ + "/kubelet.sock", grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1beta1::RegisterRequest request;
  request.set_version(version);
  request.set_endpoint(endpoint_);
  request.set_resource_name(resource);
  v1beta1::Empty response;
  return stub->Register(&context, request, &response);
}

void ScriptedPlugin::publish(std::vector<Device> devices) {
  {
    const std::lock_guard lock(mutex_);
    devices_ = std::move(devices);
    ++version_;
  }
  changed_.notify_all();
}

void ScriptedPlugin::end_streams(const grpc::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    ++endings_;
    ending_ = status;
  }
  changed_.notify_all();
}

std::size_t ScriptedPlugin::opened_streams() const {
  const std::lock_guard lock(mutex_);
  return opened_;
}

bool ScriptedPlugin::wait_for_ended_streams(std::size_t count,
                                            std::chrono::milliseconds patience) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return ended_ >= count; });
}

std::vector<v1beta1::ContainerPreferredAllocationRequest> ScriptedPlugin::preferred_requests()
    const {
  const std::lock_guard lock(mutex_);
  return preferred_requests_;
}

std::vector<v1beta1::AllocateRequest> ScriptedPlugin::allocate_requests() const {
  const std::lock_guard lock(mutex_);
  return allocate_requests_;
}

std::vector<v1beta1::PreStartContainerRequest> ScriptedPlugin::pre_start_requests() const {
  const std::lock_guard lock(mutex_);
  return pre_start_requests_;
}

std::string ScriptedPlugin::last_authority() const {
  const std::lock_guard lock(mutex_);
  return authority_;
}

grpc::Status ScriptedPlugin::GetDevicePluginOptions(grpc::ServerContext* context,
                                                    const v1beta1::Empty* /*request*/,
                                                    v1beta1::DevicePluginOptions* response) {
  {
    const std::lock_guard lock(mutex_);
    const grpc::string_ref authority = context->ExperimentalGetAuthority();
    authority_.assign(authority.data(), authority.size());
  }
  response->set_pre_start_required(script_.options.pre_start_required);
  response->set_get_preferred_allocation_available(script_.options.preferred_allocation_available);
  return script_.on_options ? script_.on_options() : grpc::Status::OK;
}

grpc::Status ScriptedPlugin::ListAndWatch(
    grpc::ServerContext* context, const v1beta1::Empty* /*request*/,
    grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) {
  std::unique_lock lock(mutex_);
  ++opened_;
  const std::uint64_t endings_before = endings_;
  std::uint64_t sent = 0;
  grpc::Status status;
  while (!context->IsCancelled()) {
    changed_.wait_for(lock, kPatience,
                      [&] { return version_ > sent || endings_ > endings_before; });
    if (endings_ > endings_before) {
      status = ending_;
      break;
    }
    if (version_ == sent) continue;
    sent = version_;
    const v1beta1::ListAndWatchResponse message = message_of(devices_);
    lock.unlock();
    stream->Write(message);
    lock.lock();
  }
  ++ended_;
  changed_.notify_all();
  return status;
}

grpc::Status ScriptedPlugin::GetPreferredAllocation(
    grpc::ServerContext* /*context*/, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  {
    const std::lock_guard lock(mutex_);
    preferred_requests_.push_back(request->container_requests(0));
  }
  if (!script_.on_preferred) return grpc::Status::OK;
  return script_.on_preferred(request->container_requests(0), *response);
}

grpc::Status ScriptedPlugin::Allocate(grpc::ServerContext* /*context*/,
                                      const v1beta1::AllocateRequest* request,
                                      v1beta1::AllocateResponse* response) {
  {
    const std::lock_guard lock(mutex_);
    allocate_requests_.push_back(*request);
  }
  if (script_.on_allocate) return script_.on_allocate(*request, *response);
  response->add_container_responses();
  return grpc::Status::OK;
}

grpc::Status ScriptedPlugin::PreStartContainer(grpc::ServerContext* /*context*/,
                                               const v1beta1::PreStartContainerRequest* request,
                                               v1beta1::PreStartContainerResponse* /*response*/) {
  {
    const std::lock_guard lock(mutex_);
    pre_start_requests_.push_back(*request);
  }
  return script_.on_pre_start ? script_.on_pre_start() : grpc::Status::OK;
}

}  // namespace tranche::testbed::standin
