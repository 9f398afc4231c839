// SPDX-License-Identifier: Apache-2.0
//
// How devices are passed to containers.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tranche::core {

// --device-list-strategy: any combination.
struct DeviceListStrategy {
  bool envvar = false;
  bool volume_mounts = false;
  bool cdi_annotations = false;
  bool cdi_cri = false;

  bool any_cdi() const { return cdi_annotations || cdi_cri; }
  bool operator==(const DeviceListStrategy&) const = default;
};

enum class DeviceIdStrategy { kUuid, kIndex };

// -host-path and -container-path: driver files for containers on nodes without NVIDIA's
// runtime.
struct DriverMount {
  std::string host_path;
  std::string container_path;

  bool operator==(const DriverMount&) const = default;
};

struct GrantOptions {
  DeviceListStrategy list = {.envvar = true};
  DeviceIdStrategy ids = DeviceIdStrategy::kUuid;
  bool pass_device_specs = false;
  std::string dev_root = "/";  // on the host: device nodes are below it
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  bool gds = false;
  bool mofed = false;
  bool gdrcopy = false;
  std::vector<unsigned> imex_channels;  // asked for: none, or 0
  bool imex_required = false;
  std::optional<DriverMount> driver_mount;
  std::optional<DriverMount> vulkan_mount;  // the driver's entry for the Vulkan loader

  bool operator==(const GrantOptions&) const = default;
};

}  // namespace tranche::core
