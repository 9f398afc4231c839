// SPDX-License-Identifier: Apache-2.0
//
// Labels of nodes written down as literals.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/features/feature_labels.h"
#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"

namespace tranche::core {

inline const MachineFacts kMachine{.type = "DGX H100", .timestamp = 1700000000};

inline NodeLabels labels_of(const Inventory& inventory, const SharingPolicy& policy = {}) {
  return feature_labels(inventory, offer(inventory, policy), policy, kMachine);
}

// The label nvidia.com/<name>; "(none)" if there is none.
inline std::string label(const NodeLabels& labels, const std::string& name) {
  const auto found = labels.find("nvidia.com/" + name);
  return found == labels.end() ? "(none)" : found->second;
}

inline Gpu of_model(unsigned index, std::string model) {
  Gpu gpu = a_gpu(index);
  gpu.model = std::move(model);
  return gpu;
}

inline Replication replicas_of(std::string resource, unsigned replicas) {
  return {.resource = ResourceName(std::move(resource)), .replicas = replicas};
}

}  // namespace tranche::core
