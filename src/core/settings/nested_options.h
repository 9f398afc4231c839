// SPDX-License-Identifier: Apache-2.0
//
// Nested clusters: nodes that are pods of a host's node. One agent can be both
// at once, a host's and itself a guest's.
#pragma once

#include <string>

namespace tranche {

struct NestedOptions {
  // As a host: where the files that are mounted into node pods are kept. On
  // disk, and the same path for us as on the host.
  std::string directory = "/var/lib/kubelet/device-plugins/tranche/nested";

  // As a guest: nothing is offered but what the host has granted.
  bool guest = false;
  std::string host_grants = "/gpu-grants";  // where the host's JSON is mounted
  std::string gpu_env = "/gpu.env";         // the older way; read where there is no JSON

  bool operator==(const NestedOptions&) const = default;
};

}  // namespace tranche
