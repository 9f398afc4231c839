// SPDX-License-Identifier: Apache-2.0
//
// Labels of MIG devices. Internal to core/features.
#pragma once

#include <string>
#include <vector>

#include "core/features/node_labels.h"
#include "core/gpu/inventory.h"
#include "core/sharing/catalog.h"
#include "core/sharing/policy.h"

namespace tranche::core {

// Puts a label if its value is valid: one that the API server refuses would take all others with
// it.
void put_label(NodeLabels& labels, const std::string& key, std::string value);

// The product: a model, and what was made of it. None if the model is not known.
void put_product(NodeLabels& labels, const std::string& key, const Gpu& gpu,
                 const std::string& suffix);

// A MIG device and its GPU.
struct SlicePlace {
  const Gpu* gpu = nullptr;
  const MigDevice* mig = nullptr;
};

// Those of these GPUs that have MIG enabled, in order of their numbers.
std::vector<SlicePlace> slices_of(const std::vector<const Gpu*>& gpus);

// Strategy single: the MIG devices are the node's nvidia.com/gpu, so they take its labels. If
// their profiles differ, the one that most devices have counts. Returns the GPU that the labels
// describe; there is at least one slice.
const Gpu& put_single_labels(NodeLabels& labels, const std::vector<SlicePlace>& slices,
                             const Catalog& catalog, const SharingPolicy& policy);

// Strategy single, and not one device of the node fits it.
void put_invalid_labels(NodeLabels& labels, const Gpu& first);

// Strategy mixed: labels for each profile.
void put_mixed_labels(NodeLabels& labels, const std::vector<SlicePlace>& slices,
                      const Catalog& catalog, const SharingPolicy& policy);

}  // namespace tranche::core
