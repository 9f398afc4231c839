// SPDX-License-Identifier: Apache-2.0
//
// Pods in: which devices each container gets, and what its plugins answer.
// Follows the kubelet step by step, its leftovers after a failure included.
//
// Thread-safe; pods are admitted one at a time, as in the kubelet.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/checkpoint.h"
#include "testbed/kubelet/choice.h"
#include "testbed/kubelet/guarded_state.h"
#include "testbed/kubelet/plugin_calls.h"
#include "testbed/kubelet/random.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

struct ContainerGrant {
  std::string name;
  std::map<std::string, Ids> devices;  // by resource
  ContainerResponse response;          // merged over the resources
};

struct AdmissionResult {
  bool admitted = false;
  // Of the pod's status where it was not admitted. "UnexpectedAdmissionError",
  // "OutOf<resource>", or, where the real kubelet would have crashed,
  // "KubeletPanic".
  std::string reason;
  std::string message;
  std::vector<ContainerGrant> containers;  // init containers first; empty unless admitted

  // The container of this name; null when there is none.
  const ContainerGrant* find(const std::string& name) const;
};

class Admission {
 public:
  struct Parts {
    GuardedState& state;
    CheckpointFile& checkpoint;
    PluginCalls& calls;
    Random& random;
    // Names the pods that are not terminated, also one that is being admitted.
    std::function<std::set<std::string>()> active_uids;
  };

  explicit Admission(Parts parts) : parts_(std::move(parts)) {}

  // Allocates for all containers of the pod.
  AdmissionResult admit(const Pod& pod);

  // What happens before every start of a container, a restart included:
  // PreStartContainer where the plugin wants it, then the cached responses.
  // Their devices' health is not looked at. Only where nothing is cached,
  // because the pod came in without its devices, they are allocated now.
  Result<ContainerResponse> start_container(const Pod& pod, const Container& container);

 private:
  using Reusable = std::map<std::string, Ids>;  // by resource

  Status allocate(const Pod& pod, const Container& container);
  Status allocate_resources(const Pod& pod, const Container& container, const Reusable& reusable);
  // Says whether there was anything to allocate.
  Result<bool> allocate_resource(const ChoiceRequest& request);
  Result<Ids> choose(const ChoiceRequest& request);
  Result<Ids> ask_preference(const std::string& resource, const PreferenceQuestion& question);
  Status record(const ChoiceRequest& request, const Ids& ids, const ContainerResponse& response);
  Status call_pre_start(const Pod& pod, const Container& container, const std::string& resource);
  void offer_or_keep(const Pod& pod, const Container& container, Reusable& reusable);
  std::vector<std::string> plugin_resources(const Container& container);
  ContainerGrant grant_of(const Pod& pod, const Container& container);

  const Parts parts_;
  std::mutex mutex_;  // held through an allocation, its calls included
  // Guarded by mutex_: devices of the finished init containers of the last pod.
  std::map<std::string, Reusable> reusable_;
};

}  // namespace tranche::testbed::standin
