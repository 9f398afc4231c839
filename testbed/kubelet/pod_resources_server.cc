// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/pod_resources_server.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "podresources_v1.grpc.pb.h"

namespace tranche::testbed::standin {
namespace {

void encode(const ListedPod& pod, v1::PodResources& encoded) {
  encoded.set_name(pod.name);
  encoded.set_namespace_(pod.ns);
  for (const ListedContainer& container : pod.containers) {
    v1::ContainerResources& resources = *encoded.add_containers();
    resources.set_name(container.name);
    for (const ListedDevice& device : container.devices) {
      v1::ContainerDevices& devices = *resources.add_devices();
      devices.set_resource_name(device.resource);
      devices.add_device_ids(device.id);
      for (const std::int64_t node : device.numa_nodes) {
        devices.mutable_topology()->add_nodes()->set_id(node);
      }
    }
  }
}

// A Go handler's plain error has the code Unknown. A process that is dead answers
// nothing, which its caller takes for unavailable.
grpc::Status to_grpc(const Error& error) {
  return {error.code == ErrorCode::kUnavailable ? grpc::StatusCode::UNAVAILABLE
                                                : grpc::StatusCode::UNKNOWN,
          error.message};
}

}  // namespace

class PodResourcesServer::Service final : public v1::PodResourcesLister::Service {
 public:
  explicit Service(Handlers handlers) : handlers_(std::move(handlers)) {}

  grpc::Status List(grpc::ServerContext* /*context*/,
                    const v1::ListPodResourcesRequest* /*request*/,
                    v1::ListPodResourcesResponse* response) override {
    const Result<std::vector<ListedPod>> pods = handlers_.list();
    if (!pods) return to_grpc(pods.error());
    for (const ListedPod& pod : *pods) encode(pod, *response->add_pod_resources());
    return grpc::Status::OK;
  }

  grpc::Status Get(grpc::ServerContext* /*context*/, const v1::GetPodResourcesRequest* request,
                   v1::GetPodResourcesResponse* response) override {
    const Result<ListedPod> pod = handlers_.get(request->pod_namespace(), request->pod_name());
    if (!pod) return to_grpc(pod.error());
    encode(*pod, *response->mutable_pod_resources());
    return grpc::Status::OK;
  }

 private:
  const Handlers handlers_;
};

Result<std::unique_ptr<PodResourcesServer>> PodResourcesServer::listen(const std::string& path,
                                                                       Handlers handlers) {
  auto service = std::make_unique<Service>(std::move(handlers));
  Result<std::unique_ptr<SocketServer>> server = SocketServer::listen(path, *service);
  if (!server) return server.error();
  return std::unique_ptr<PodResourcesServer>(
      new PodResourcesServer(std::move(service), *std::move(server)));
}

PodResourcesServer::PodResourcesServer(std::unique_ptr<Service> service,
                                       std::unique_ptr<SocketServer> server)
    : service_(std::move(service)), server_(std::move(server)) {}

PodResourcesServer::~PodResourcesServer() { stop(SocketFile::kRemoved); }

void PodResourcesServer::stop(SocketFile file) { server_->stop(file); }

}  // namespace tranche::testbed::standin
