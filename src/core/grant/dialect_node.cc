// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "core/grant/dialect.h"
#include "core/grant/parts.h"

namespace tranche::core {
namespace {

// A container without one of these starts and finds no GPU. The driver's other control
// nodes are for debuggers and displays.
constexpr const char* kNeededNodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm"};

Status check_nodes(const GrantRequest& request) {
  const std::vector<std::string>& there = request.facts.control_nodes;
  for (const char* path : kNeededNodes) {
    if (std::ranges::find(there, path) == there.end()) {
      return unavailable(request.offer, std::string(path) +
                                            " is not on the node: load the driver "
                                            "with its nvidia-uvm module (nvidia-modprobe -c 0 -u)");
    }
  }
  for (const HeldDevice& held : request.devices) {
    if (!held.device->minor) {
      return unavailable(
          request.offer,
          fmt::format("the driver does not report the device node of {}", describe(*held.device)));
    }
  }
  return Done{};
}

}  // namespace

Result<ContainerGrant> node_grant(const GrantRequest& request) {
  ContainerGrant grant;
  if (Status named = add_cdi(request, grant); !named) return named.error();
  if (!only_by_cdi(request.options.list)) {
    if (Status there = check_nodes(request); !there) return there.error();
    add_nodes(request, "mrw", grant);
  }
  add_driver_mount(request, grant);
  return grant;
}

}  // namespace tranche::core
