// SPDX-License-Identifier: Apache-2.0
//
// What the agent publishes at the API server. All of it is optional: the kubelet is served
// without it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tranche::core {

// The GPUs that an extended resource counts.
enum class CountedGpus { kAll, kHealthy };

// A resource that the agent writes into its Node's status itself, without the kubelet.
struct ExtendedResource {
  std::string name;
  std::variant<std::uint64_t, CountedGpus> count;

  bool operator==(const ExtendedResource&) const = default;
};

struct ClusterOptions {
  std::string kubeconfig;  // empty: the pod's service account
  bool gpu_node = false;   // publish the GpuNode object
  bool events = false;
  std::string condition;  // type of the Node's condition; empty: none
  std::vector<ExtendedResource> extended_resources;

  bool operator==(const ClusterOptions&) const = default;
};

}  // namespace tranche::core
