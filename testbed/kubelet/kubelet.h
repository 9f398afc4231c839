// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for the kubelet's device manager, on a device-plugins directory of
// the caller's choice. Plugins register with it as with a kubelet and are
// called as by one; pods are admitted by a function call. It follows the
// sources of kubelet 1.36, or 1.37, see KubeletVersion.
//
// What it does not have: node status is looked at when asked for and not every
// ten seconds, the topology manager's hint is given and not computed, and there
// are no resources but those of device plugins.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/admission.h"
#include "testbed/kubelet/node_state.h"
#include "testbed/kubelet/pod_resources.h"
#include "testbed/kubelet/pulse.h"
#include "testbed/kubelet/registration_server.h"
#include "testbed/kubelet/transcript.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

struct KubeletOptions {
  std::string directory = "/var/lib/kubelet/device-plugins";
  // Of the pod-resources service's socket; empty: there is no such service.
  std::string pod_resources_directory;
  KubeletVersion version = KubeletVersion::k136;
  // After a plugin's end its devices stay in the node's capacity for this long.
  std::chrono::milliseconds grace = std::chrono::minutes(5);
  std::chrono::milliseconds dial_patience = std::chrono::seconds(10);
  std::chrono::milliseconds pre_start_patience = std::chrono::seconds(30);
  bool stream_before_answer = false;  // see SessionOptions
  std::uint64_t seed = 1;             // of the random orders
};

struct DeviceView {
  bool healthy = false;
  std::vector<std::int64_t> numa_nodes;

  bool operator==(const DeviceView&) const = default;
};

struct ResourceView {
  std::int64_t capacity = 0;
  std::int64_t allocatable = 0;
  bool connected = false;  // has a plugin whose stream is open
  std::map<std::string, DeviceView> devices;
  Ids allocated;

  bool operator==(const ResourceView&) const = default;
};

struct NodeView {
  std::map<std::string, ResourceView> resources;

  // Zero for a resource that the node does not have.
  std::int64_t capacity(const std::string& resource) const;
  std::int64_t allocatable(const std::string& resource) const;
};

// A pod that a restarted kubelet found, and whether it may stay.
struct FoundPod {
  Pod pod;
  AdmissionResult result;
};

class Kubelet {
 public:
  explicit Kubelet(KubeletOptions options, Transcript::Sink sink = {});
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;
  ~Kubelet();

  // Reads the checkpoint, deletes the unix sockets in the directory and nothing
  // else, and listens.
  Status start();

  // The end of the process. Its memory is lost; pods and the node's status
  // outlive it. A killed one leaves its socket behind.
  void stop(SocketFile file = SocketFile::kRemoved);
  Status restart(SocketFile file = SocketFile::kLeftBehind);

  // A pod that arrives, or, after a restart, one whose containers were not
  // running: those keep their devices, if healthy. Running containers need no
  // call: the kubelet makes none for them.
  AdmissionResult admit(const Pod& pod);

  // What a kubelet does soon after a restart: it admits the pods that it finds,
  // in the order in which they came. Containers that run need nothing. An init
  // container that has ended is as one that is yet to start: without healthy
  // devices its pod is rejected, which ends it. All but such init containers
  // are taken to run.
  //
  // In the real kubelet this races with the plugins' registrations. Here it
  // does not happen by itself: the caller decides who comes first.
  std::vector<FoundPod> admit_found_pods();

  // The start or restart of a container of an admitted pod.
  Result<ContainerResponse> start_container(const Pod& pod, const std::string& container);

  // The pod has ended. Its devices become free at the next allocation, or when
  // free_ended_pods() is called, as by pod-resources List.
  void remove(const Pod& pod);
  void free_ended_pods();

  NodeView node();

  // Waits until `holds` is true of the node, or patience is over.
  bool wait_until(const std::function<bool(const NodeView&)>& holds,
                  std::chrono::milliseconds patience);
  bool wait_for_allocatable(const std::string& resource, std::int64_t count,
                            std::chrono::milliseconds patience);

  // Cuts the resource's stream from this side. False: it has none.
  bool break_stream(const std::string& resource);

  // From here on the ends of streams go unnoticed until they are released, so
  // that a plugin which registers again at once loses its new connection to the
  // end of its old one. In the real kubelet (up to 1.36) this is a matter of
  // microseconds, and happens.
  void hold_stream_ends();
  void release_stream_ends();

  // The pod-resources service alone goes, or comes back. A kubelet that starts
  // has it again.
  Status serve_pod_resources(bool serves);
  PodResourcesCounts pod_resources_counts() const;

  Transcript& transcript() { return transcript_; }
  std::string socket_path() const;
  std::string pod_resources_path() const;

 private:
  struct Life;  // what is lost with the process
  struct ActivePod {
    Pod pod;
    std::uint64_t number = 0;  // in the order in which they came
  };

  std::shared_ptr<Life> life() const;
  AdmissionResult admit_to(const std::shared_ptr<Life>& running, const Pod& pod);
  AdmissionResult admit_into(Life& life, const Pod& pod);
  std::set<std::string> active_uids() const;
  void refresh_status(Life& life);
  std::optional<Clock::time_point> next_expiry() const;
  std::vector<Pod> pods_in_order() const;
  Status serve_pod_resources(Life& life);
  Result<std::vector<ListedPod>> list_pods();
  Result<ListedPod> get_pod(const std::string& ns, const std::string& name);

  const KubeletOptions options_;
  Transcript transcript_;
  Pulse changed_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<Life> life_;                    // null: not running
  std::map<std::string, ActivePod> active_pods_;  // by uid
  std::uint64_t pods_that_came_ = 0;
  NodeStatus status_;
  PodResourcesCounts counts_;
};

}  // namespace tranche::testbed::standin
