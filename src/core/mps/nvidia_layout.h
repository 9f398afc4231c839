// SPDX-License-Identifier: Apache-2.0
//
// The daemons that NVIDIA's plugin expects beside it, where its chart runs our
// image as `mps-control-daemon`: one a resource, in its folders. Pure.
//
//   <root>/<resource>/pipe      what containers mount
//   <root>/<resource>/.started  that resource's daemon takes clients
//   <root>/.ready               all do
//   <root>/shm                  a tmpfs, everybody's /dev/shm
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/mps/mps_plan.h"
#include "core/mps/mps_report.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// A daemon for each resource that is offered in replicas. Every client may use
// its part of a device's memory and threads by default. MIG devices are left
// out, as the plugin does.
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
