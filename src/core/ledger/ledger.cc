// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger.h"

namespace tranche::core {

std::string to_string(const Holder& holder) {
  std::string pod;
  if (!holder.pod.empty()) {
    pod = holder.pod_namespace + "/" + holder.pod;
  } else if (!holder.pod_uid.empty()) {
    pod = "the pod with uid " + holder.pod_uid;
  } else {
    return "a container that is just being made";
  }
  return holder.container.empty() ? pod : pod + ", container " + holder.container;
}

}  // namespace tranche::core
