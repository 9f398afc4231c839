// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/pod_resources_client.h"

#include <fmt/core.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <map>
#include <memory>

#include "podresources_v1.grpc.pb.h"

namespace tranche::node {
namespace {

using std::chrono::system_clock;

// A node full of memory shares lists tens of thousands of ids with their NUMA node, about a hundred
// bytes each. gRPC's own limit is 4 MiB.
constexpr int kLargestAnswer = 64 << 20;

std::unique_ptr<v1::PodResourcesLister::Stub> stub_for(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kLargestAnswer);
  return v1::PodResourcesLister::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

// Makes a call with a deadline.
template <typename Call>
grpc::Status called(std::chrono::milliseconds patience, const std::stop_token& stop, Call call) {
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + patience);
  const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
  return call(context);
}

Error unavailable(const std::string& socket, const grpc::Status& status) {
  return {ErrorCode::kUnavailable, fmt::format("the kubelet's pod-resources service at {}: {}",
                                               socket, status.error_message())};
}

// The kubelet's errors have code UNKNOWN, so only the text tells them apart. An unknown text means
// nothing about the pod.
Error refusal(const std::string& socket, const grpc::Status& status) {
  const std::string& words = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED ||
      words.find("disabled") != std::string::npos) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("the kubelet's pod-resources service at {} has no Get: {}", socket, words)};
  }
  if (status.error_code() == grpc::StatusCode::NOT_FOUND ||
      (status.error_code() == grpc::StatusCode::UNKNOWN &&
       words.find("not found") != std::string::npos)) {
    return {ErrorCode::kNotFound, words};
  }
  return unavailable(socket, status);
}

}  // namespace

void add_holdings(const v1::PodResources& pod, const std::set<std::string>& resources,
                  std::vector<Holding>& holdings) {
  for (const v1::ContainerResources& container : pod.containers()) {
    // An entry may have one id or many; together they are one holding.
    std::map<std::string, std::vector<std::string>> shares;
    for (const v1::ContainerDevices& devices : container.devices()) {
      if (!resources.empty() && !resources.contains(devices.resource_name())) continue;
      auto& ids = shares[devices.resource_name()];
      ids.insert(ids.end(), devices.device_ids().begin(), devices.device_ids().end());
    }
    for (auto& [resource, ids] : shares) {
      std::ranges::sort(ids);
      // A device on two NUMA nodes may be listed with each.
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      if (ids.empty()) continue;
      holdings.push_back(
          {resource, {pod.namespace_(), pod.name(), "", container.name()}, std::move(ids)});
    }
  }
}

Result<std::vector<Holding>> PodResourcesClient::list(const std::set<std::string>& resources,
                                                      const std::stop_token& stop) const {
  const auto stub = stub_for(socket_);
  v1::ListPodResourcesResponse response;
  const grpc::Status status = called(patience_, stop, [&](grpc::ClientContext& context) {
    return stub->List(&context, {}, &response);
  });
  if (!status.ok()) return unavailable(socket_, status);
  std::vector<Holding> holdings;
  for (const v1::PodResources& pod : response.pod_resources()) {
    add_holdings(pod, resources, holdings);
  }
  std::ranges::sort(holdings);
  return holdings;
}

Result<std::vector<Holding>> PodResourcesClient::get(const std::string& pod_namespace,
                                                     const std::string& pod,
                                                     const std::set<std::string>& resources,
                                                     const std::stop_token& stop) const {
  const auto stub = stub_for(socket_);
  v1::GetPodResourcesRequest request;
  request.set_pod_namespace(pod_namespace);
  request.set_pod_name(pod);
  v1::GetPodResourcesResponse response;
  const grpc::Status status = called(patience_, stop, [&](grpc::ClientContext& context) {
    return stub->Get(&context, request, &response);
  });
  if (!status.ok()) return refusal(socket_, status);
  std::vector<Holding> holdings;
  add_holdings(response.pod_resources(), resources, holdings);
  std::ranges::sort(holdings);
  return holdings;
}

}  // namespace tranche::node
