// SPDX-License-Identifier: Apache-2.0
//
// Keeps the features file of NVIDIA's GPU feature discovery, from which Node Feature Discovery
// (NFD) labels the node.
//
// Not thread-safe: belongs to the main thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "core/features/node_labels.h"
#include "core/settings/feature_options.h"
#include "os/log.h"

namespace tranche::node {

// One line for each label, "key=value".
std::string features_text(const NodeLabels& labels);

class FeaturesFile {
 public:
  explicit FeaturesFile(const Log& log) : log_(log) {}

  // Writes the labels if the file does not have them, and removes the file of earlier options.
  // Empty labels: the file stays as it is. Problems are logged once.
  void apply(const FeatureOptions& options, const std::optional<NodeLabels>& labels);
  // At a regular end, as NVIDIA's program does: NFD then removes the labels. Leaves a file that
  // is not as we wrote it.
  void remove();

 private:
  Status write(const std::string& path, const std::string& text);

  const Log& log_;
  std::string path_;  // last written; empty: none
  std::string text_;
  OnChange logged_;
};

}  // namespace tranche::node
