// SPDX-License-Identifier: Apache-2.0
//
// The fields that rows of several sections have: names of resources, devices,
// replicas. What is not of the right type has been complained about by shape.h
// and is passed over. Not thread-safe: belongs to one reading of one file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/document.h"
#include "config/file_problems.h"
#include "sharing/policy.h"

namespace tranche {

// Of any one resource.
constexpr unsigned kMostReplicas = 1'000'000;
// A remark at what NVIDIA's plugin reads and drops.
constexpr std::string_view kHonoured = "honoured here; NVIDIA's plugin ignores it";

class RowFields {
 public:
  explicit RowFields(FileProblems& problems) : problems_(problems) {}

  std::optional<ResourceName> read_name(const ConfigNode& node, const std::string& shown);
  std::optional<unsigned> read_replicas(const ConfigNode& node, const std::string& shown);
  // Without a node: all.
  std::optional<DeviceSelection> read_devices(const ConfigNode* node, const std::string& shown);

 private:
  std::optional<DeviceSelection> read_device_list(const ConfigNode& list, const std::string& shown);

  FileProblems& problems_;
};

// "sharing.timeSlicing.resources[0]".
std::string row_name(const std::string& section, std::size_t index);

}  // namespace tranche
