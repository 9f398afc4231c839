// SPDX-License-Identifier: Apache-2.0
//
// Node labels: those of NVIDIA's GPU feature discovery (GFD).
#pragma once

#include <string>

namespace tranche::core {

// How labels get to the node.
enum class LabelOutput {
  kNone,
  kApi,   // by the API server
  kFile,  // as a features file for Node Feature Discovery (NFD)
};

struct FeatureOptions {
  LabelOutput labels = LabelOutput::kNone;
  std::string output_file = "/etc/kubernetes/node-feature-discovery/features.d/gfd";
  // Its text is the machine's type; read below the host's root.
  std::string machine_type_file = "/sys/class/dmi/id/product_name";
  bool no_timestamp = false;

  bool operator==(const FeatureOptions&) const = default;
};

}  // namespace tranche::core
