// SPDX-License-Identifier: Apache-2.0
//
// The floor: what a device plugin costs that knows nothing. It registers, sends
// a list that was built once, and answers every call with constants of the size
// that the agent's answers have. The gRPC server is set up as the agent's is,
// and linked the same way. What the agent costs above this is our own doing.
//
//   tranche-bench-floor KUBELET_SOCKET REPLICAS UUID:NUMA…
//
// REPLICAS 0: each device is listed once, under its uuid.
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "deviceplugin_v1beta1.grpc.pb.h"

namespace tranche::bench {
namespace {

constexpr const char* kSocketName = "floor.sock";
constexpr std::chrono::seconds kRegisterTimeout{15};
constexpr std::chrono::milliseconds kShutdownPatience{500};

class Floor final : public v1beta1::DevicePlugin::Service {
 public:
  void list(const std::string& uuid, std::int64_t numa_node, unsigned replicas) {
    if (visible_.empty()) visible_ = uuid;
    if (replicas == 0) add(uuid, numa_node);
    for (unsigned replica = 0; replica < replicas; ++replica) {
      add(uuid + "::" + std::to_string(replica), numa_node);
    }
  }

  void end_streams() {
    ended_ = true;
    ended_.notify_all();
  }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions* response) override {
    response->set_get_preferred_allocation_available(true);
    return grpc::Status::OK;
  }

  grpc::Status ListAndWatch(grpc::ServerContext*, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override {
    stream->Write(list_);
    ended_.wait(false);
    return grpc::Status::OK;
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext*,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    for (const auto& container : request->container_requests()) {
      auto& answer = *response->add_container_responses();
      const int size = std::min(container.allocation_size(), list_.devices_size());
      for (int i = 0; i < size; ++i) answer.add_deviceids(list_.devices(i).id());
    }
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    for (int i = 0; i < request->container_requests_size(); ++i) {
      (*response->add_container_responses()->mutable_envs())["NVIDIA_VISIBLE_DEVICES"] = visible_;
    }
    return grpc::Status::OK;
  }

 private:
  void add(const std::string& id, std::int64_t numa_node) {
    v1beta1::Device& device = *list_.add_devices();
    device.set_id(id);
    device.set_health("Healthy");
    device.mutable_topology()->add_nodes()->set_id(numa_node);
  }

  v1beta1::ListAndWatchResponse list_;
  std::string visible_;
  std::atomic<bool> ended_{false};
};

std::unique_ptr<grpc::Server> listen_on(const std::string& path, grpc::Service& service) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(64 << 20);
  builder.SetMaxSendMessageSize(-1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

grpc::Status register_with(const std::string& kubelet_socket) {
  const auto stub = v1beta1::Registration::NewStub(
      grpc::CreateChannel("unix:" + kubelet_socket, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRegisterTimeout);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(kSocketName);
  request.set_resource_name("nvidia.com/gpu");
  request.mutable_options()->set_get_preferred_allocation_available(true);
  v1beta1::Empty response;
  return stub->Register(&context, request, &response);
}

int complain(const std::string& what) {
  std::cerr << "tranche-bench-floor: " << what << "\n";
  return 1;
}

int run(const std::vector<std::string>& words) {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  const auto replicas = words.size() < 2 ? std::nullopt : parse_number<unsigned>(words[1]);
  if (!replicas) return complain("usage: KUBELET_SOCKET REPLICAS UUID:NUMA…");
  Floor floor;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::vector<std::string> parts = split(words[i], ':');
    const auto numa_node = parse_number<std::int64_t>(parts.back());
    if (parts.size() != 2 || !numa_node) return complain(words[i] + " is not UUID:NUMA");
    floor.list(parts[0], *numa_node, *replicas);
  }
  const auto server = listen_on(below(parent_of(words[0]), kSocketName), floor);
  if (!server) return complain("cannot listen beside " + words[0]);
  if (const grpc::Status answer = register_with(words[0]); !answer.ok()) {
    return complain("the kubelet at " + words[0] + ": " + answer.error_message());
  }
  int signal = 0;
  ::sigwait(&ends, &signal);
  floor.end_streams();
  server->Shutdown(std::chrono::system_clock::now() + kShutdownPatience);
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace tranche::bench

int main(int argc, char** argv) {
  return tranche::bench::run({argv + 1, argv + argc});
}
