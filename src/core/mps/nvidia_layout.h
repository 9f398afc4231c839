// SPDX-License-Identifier: Apache-2.0
//
// The daemons that NVIDIA's plugin expects, if its chart runs our image as `mps-control-daemon`:
// one for each resource, in its folders. Pure.
//
//   <root>/<resource>/pipe      what containers mount
//   <root>/<resource>/.started  that resource's daemon takes clients
//   <root>/.ready               all of them take clients
//   <root>/shm                  a tmpfs, the /dev/shm of all containers
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/mps/mps_plan.h"
#include "core/mps/mps_report.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// A daemon for each resource with replicas. By default a client may use its part of a device's
// memory and threads. Leaves out MIG devices, as the plugin does.
MpsPlan plan_nvidia_layout(const Catalog& catalog, const std::string& root);

// The files that must exist now to signal the state to the plugin.
struct NvidiaMarkers {
  std::vector<std::string> present;
  std::vector<std::string> absent;

  bool operator==(const NvidiaMarkers&) const = default;
};
NvidiaMarkers nvidia_markers(const MpsPlan& plan, const MpsReport& report, const std::string& root);

// The mount options of <root>/shm: half of the memory in `meminfo`, the content of
// /proc/meminfo.
std::string shm_options(std::string_view meminfo);

}  // namespace tranche::core
