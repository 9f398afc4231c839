// SPDX-License-Identifier: Apache-2.0
//
// The status of a GpuNode object as JSON (the CRD's schema is in deploy/). Readers and writers may
// be of different versions: fields that are not known are ignored, missing ones have defaults, and
// what cannot be understood is named instead of guessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/report/gpu_node.h"

namespace tranche::formats {

// Without `observedAt`, so that two statuses can be compared.
std::string gpu_node_status(const GpuNode& node);
// The same with the time of the write.
std::string with_observed_at(const std::string& status, const std::string& time);

struct GpuNodeReading {
  GpuNode node;
  std::string observed_at;
  // Resources that a newer agent offers in a way that is not known here. They exist, but nothing
  // can be predicted of them.
  std::vector<std::string> not_understood;

  bool operator==(const GpuNodeReading&) const = default;
};
Result<GpuNodeReading> parse_gpu_node_status(std::string_view text);

}  // namespace tranche::formats
