// SPDX-License-Identifier: Apache-2.0
//
// Which devices a container gets: the kubelet's decision, cut in two where it
// may ask the plugin for its preference. Its order is: devices of the pod's
// finished init containers, then those near the hinted NUMA nodes, then what
// the plugin prefers, then any.
//
// Pure, given the random order to walk sets in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/node_state.h"
#include "testbed/kubelet/random.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

struct ChoiceRequest {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::int64_t required = 0;
  bool running = false;  // the container; it needs nothing then
  Ids reusable;          // of the pod's finished init containers
  std::optional<NumaNodes> affinity;
};

// The arguments of GetPreferredAllocation.
struct PreferenceQuestion {
  Ids available;
  Ids must_include;
  std::int64_t size = 0;

  bool operator==(const PreferenceQuestion&) const = default;
};

struct Choice {
  Ids picked;  // so far; reserved at once, before any call
  std::int64_t needed = 0;
  // Empty: nothing to ask. Either all is picked, or the container has its
  // devices already.
  std::optional<PreferenceQuestion> question;
  Ids candidates;              // what counts of the answer
  std::vector<Ids> fallbacks;  // where the rest comes from, in this order

  bool is_complete() const { return needed == 0; }
};

// Fails, with the kubelet's words, where the container cannot have devices at
// all. A choice that is complete and empty means that there is nothing to do:
// the container has its devices.
Result<Choice> begin_choice(const NodeState& state, const ChoiceRequest& request, Random& random);

// Takes the plugin's answer into account; empty where it was not asked.
Result<Ids> finish_choice(Choice choice, const Ids& preferred, std::int64_t required,
                          Random& random);

// Available devices by how they lie to the hint. Without a hint, or where no
// device of the resource names a NUMA node, all are `without_affinity`.
struct ByAffinity {
  Ids aligned;
  Ids unaligned;
  Ids without_affinity;
};
ByAffinity split_by_affinity(const ListedDevices& listed, const Ids& available,
                             const std::optional<NumaNodes>& affinity);

}  // namespace tranche::testbed::standin
