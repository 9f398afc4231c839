// SPDX-License-Identifier: Apache-2.0
//
// Answers the kubelet's calls about one resource from the latest values. It only translates.
//
// Thread-safe: gRPC calls it from its own threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/grant/grant.h"
#include "core/plan/device_list.h"
#include "core/plan/serving.h"
#include "deviceplugin_v1beta1.grpc.pb.h"
#include "node/kubelet/node_access.h"
#include "os/latest.h"
#include "os/log.h"

namespace tranche::node {

// The list that the streams send. Every registration starts a new epoch, which ends the streams of
// older ones.
struct Listing {
  std::uint64_t epoch = 0;
  DeviceList devices;
  std::uint64_t repeats = 0;  // incremented to send the same list again

  bool operator==(const Listing&) const = default;
};

struct CallCounts {
  std::uint64_t granted = 0;
  std::uint64_t refused = 0;
  std::uint64_t preferred = 0;
  std::uint64_t lists_sent = 0;
};

class PluginService final : public v1beta1::DevicePlugin::Service {
 public:
  // Events of the streams. Called from gRPC's threads.
  struct StreamWatch {
    std::function<void(std::uint64_t epoch)> opened;
    std::function<void(std::uint64_t epoch)> ended;  // no stream is open any more
    std::function<void(std::uint64_t version)> sent;
  };

  PluginService(const Latest<Serving>& serving, const Latest<Listing>& listing, StreamWatch watch,
                const NodeAccess& node, Log& log);

  // Refuses every Allocate: the resource is no longer offered, and the kubelet does not know that
  // yet.
  void retire() { is_retired_ = true; }

  CallCounts counts() const;
  // Whether Allocate or GetPreferredAllocation is running.
  bool is_allocating() const { return allocating_.load() > 0; }
  // Number of devices listed or requested so far.
  std::uint64_t devices_seen() const { return devices_seen_.load(); }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext* context, const v1beta1::Empty* request,
                                      v1beta1::DevicePluginOptions* response) override;
  grpc::Status GetPreferredAllocation(grpc::ServerContext* context,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override;
  grpc::Status Allocate(grpc::ServerContext* context, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override;
  grpc::Status PreStartContainer(grpc::ServerContext* context,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse* response) override;

 private:
  // Sends the list as bytes.
  using ListStream = grpc::ServerSplitStreamer<v1beta1::Empty, grpc::ByteBuffer>;

  OfferRoom room(const Serving& serving, const std::vector<std::string_view>& free) const;
  Status check_holders(const Serving& serving, const std::vector<std::string_view>& ids) const;
  Result<ContainerGrant> allocate(const Serving& serving, const std::vector<std::string_view>& ids);
  Result<std::string> hand_off(ContainerGrant& granted) const;
  Status record(const Serving& serving, const std::vector<std::string_view>& ids) const;
  void note_refusal(const Serving& serving, const std::vector<std::string_view>& ids,
                    const std::string& reason);
  grpc::Status list_and_watch(grpc::ServerContext& context, ListStream& stream);
  void note_stream(std::uint64_t epoch, int change);

  const Latest<Serving>& serving_;
  const Latest<Listing>& listing_;
  const StreamWatch watch_;
  const NodeAccess node_;
  Log& log_;
  std::atomic<bool> is_retired_{false};
  std::atomic<int> allocating_{0};
  std::atomic<std::uint64_t> granted_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> preferred_{0};
  std::atomic<std::uint64_t> lists_sent_{0};
  std::atomic<std::uint64_t> devices_seen_{0};

  std::mutex mutex_;
  // Guarded by mutex_: open streams of the newest epoch that had any.
  std::uint64_t epoch_ = 0;
  int streams_ = 0;
  // Time of the last log line for each reason.
  std::map<std::string, std::chrono::steady_clock::time_point> logged_refusals_;
};

}  // namespace tranche::node
