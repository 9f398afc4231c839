// SPDX-License-Identifier: Apache-2.0
//
// A device plugin that does what a test tells it to: its lists, its answers and
// its errors are set from outside, and what it was asked is kept.
//
// Thread-safe, except that answers are to be set before they are asked for.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "deviceplugin_v1beta1.grpc.pb.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

class ScriptedPlugin final : public v1beta1::DevicePlugin::Service {
 public:
  struct Script {
    PluginOptions options;
    std::function<grpc::Status()> on_options;
    std::function<grpc::Status(const v1beta1::ContainerPreferredAllocationRequest&,
                               v1beta1::PreferredAllocationResponse&)>
        on_preferred;
    std::function<grpc::Status(const v1beta1::AllocateRequest&, v1beta1::AllocateResponse&)>
        on_allocate;
    std::function<grpc::Status()> on_pre_start;
  };

  // Serves on directory/endpoint.
  ScriptedPlugin(const std::string& directory, std::string endpoint, Script script);
  ScriptedPlugin(const std::string& directory, std::string endpoint);
  ScriptedPlugin(const ScriptedPlugin&) = delete;
  ScriptedPlugin& operator=(const ScriptedPlugin&) = delete;
  ~ScriptedPlugin() override;

  // Calls the kubelet in the plugin's directory; waits for it to appear.
  grpc::Status register_as(const std::string& resource, const std::string& version = "v1beta1");

  // What every stream sends, from now on.
  void publish(std::vector<Device> devices);
  // Lets every open stream end, with this status.
  void end_streams(const grpc::Status& status = grpc::Status::OK);

  std::size_t opened_streams() const;
  // Waits for streams that were opened so far and ended since.
  bool wait_for_ended_streams(std::size_t count, std::chrono::milliseconds patience) const;

  // What it was asked, in order.
  std::vector<v1beta1::ContainerPreferredAllocationRequest> preferred_requests() const;
  std::vector<v1beta1::AllocateRequest> allocate_requests() const;
  std::vector<v1beta1::PreStartContainerRequest> pre_start_requests() const;
  std::string last_authority() const;

 private:
  grpc::Status GetDevicePluginOptions(grpc::ServerContext* context, const v1beta1::Empty* request,
                                      v1beta1::DevicePluginOptions* response) override;
  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty* request,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override;
  grpc::Status GetPreferredAllocation(grpc::ServerContext* context,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override;
  grpc::Status Allocate(grpc::ServerContext* context, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override;
  grpc::Status PreStartContainer(grpc::ServerContext* context,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse* response) override;

  const std::string directory_;
  const std::string endpoint_;
  const Script script_;
  std::unique_ptr<grpc::Server> server_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<Device> devices_;
  std::uint64_t version_ = 0;  // of devices_; 0: nothing to send yet
  std::uint64_t endings_ = 0;
  grpc::Status ending_;
  std::size_t opened_ = 0;
  std::size_t ended_ = 0;
  std::vector<v1beta1::ContainerPreferredAllocationRequest> preferred_requests_;
  std::vector<v1beta1::AllocateRequest> allocate_requests_;
  std::vector<v1beta1::PreStartContainerRequest> pre_start_requests_;
  std::string authority_;
};

// "id0", "id1", …, all healthy.
std::vector<Device> healthy_devices(int count);

}  // namespace tranche::testbed::standin
