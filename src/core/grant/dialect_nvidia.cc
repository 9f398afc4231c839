// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "base/text.h"
#include "core/grant/dialect.h"
#include "core/grant/parts.h"

namespace tranche::core {
namespace {

constexpr const char* kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
constexpr const char* kVolumeMountRoot = "/var/run/nvidia-container-devices";

void add_environment(const GrantRequest& request, ContainerGrant& grant) {
  grant.env[kVisibleDevices] = join(device_names(request), ",");
  std::vector<std::string> channels;
  for (const unsigned channel : request.facts.imex_channels) {
    channels.push_back(std::to_string(channel));
  }
  if (!channels.empty()) grant.env["NVIDIA_IMEX_CHANNELS"] = join(channels, ",");
}

void add_volume_mounts(const GrantRequest& request, ContainerGrant& grant) {
  const std::string root = kVolumeMountRoot;
  grant.env[kVisibleDevices] = root;
  for (const std::string& name : device_names(request)) {
    grant.mounts.push_back({fmt::format("{}/{}", root, name), "/dev/null", false});
  }
  for (const unsigned channel : request.facts.imex_channels) {
    grant.mounts.push_back({fmt::format("{}/imex/{}", root, channel), "/dev/null", false});
  }
}

}  // namespace

Result<ContainerGrant> nvidia_grant(const GrantRequest& request) {
  const GrantOptions& options = request.options;
  ContainerGrant grant;
  if (Status named = add_cdi(request, grant); !named) return named.error();
  if (options.gdrcopy) grant.env["NVIDIA_GDRCOPY"] = "enabled";
  if (options.gds) grant.env["NVIDIA_GDS"] = "enabled";
  if (options.mofed) grant.env["NVIDIA_MOFED"] = "enabled";
  if (options.list.envvar) add_environment(request, grant);
  if (options.list.volume_mounts) add_volume_mounts(request, grant);
  if (options.pass_device_specs && !only_by_cdi(options.list)) add_nodes(request, "rw", grant);
  add_driver_mount(request, grant);
  return grant;
}

}  // namespace tranche::core
