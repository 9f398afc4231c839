// SPDX-License-Identifier: Apache-2.0
//
// Nested clusters: nodes that are pods of a host's node. One agent can be host and guest at
// once.
#pragma once

#include <string>

namespace tranche::core {

// /gpu.env of a node pod.
enum class GpuEnvMount {
  kReadOnly,  // a read-only file of the host
  kPod,       // nothing: the pod writes its own, which counts as its storage
};

struct NestedOptions {
  // On a host: the folder of the files that are mounted into node pods. On disk, and the same
  // path for us as on the host.
  std::string directory = "/var/lib/kubelet/device-plugins/tranche/nested";
  GpuEnvMount gpu_env_mount = GpuEnvMount::kReadOnly;

  // On a guest: offer only what the host has granted.
  bool guest = false;
  std::string host_grants = "/gpu-grants";  // where the host's JSON is mounted
  std::string gpu_env = "/gpu.env";         // the older way; read where there is no JSON

  bool operator==(const NestedOptions&) const = default;
};

}  // namespace tranche::core
