// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger.h"

#include <fmt/core.h>

namespace tranche::core {

std::string to_string(const Holder& holder) {
  std::string pod;
  if (!holder.pod.empty()) {
    pod = fmt::format("{}/{}", holder.pod_namespace, holder.pod);
  } else if (!holder.pod_uid.empty()) {
    pod = "the pod with uid " + holder.pod_uid;
  } else {
    return "a container that is being created";
  }
  return holder.container.empty() ? pod : fmt::format("{}, container {}", pod, holder.container);
}

}  // namespace tranche::core
