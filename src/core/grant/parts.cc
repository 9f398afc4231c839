// SPDX-License-Identifier: Apache-2.0
#include "core/grant/parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/path.h"
#include "base/text.h"
#include "core/grant/cdi_names.h"

namespace tranche::core {
namespace {

// The annotation's name: deterministic, and different for any two grants of a container.
std::string fingerprint(const Offer& offer, const std::vector<std::string>& names) {
  std::array<std::uint64_t, 2> hash{0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  const auto add = [&](std::string_view text) {
    for (const char c : text) {
      hash[0] = (hash[0] ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
      hash[1] = (hash[1] ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
      hash[1] ^= hash[0] >> 29;
    }
  };
  add(offer.name.text);
  for (const std::string& name : names) add("\n" + name);
  return fmt::format("{:016x}{:016x}", hash[0], hash[1]);
}

bool is_in_specification(const NodeFacts& facts, std::string_view cdi_class,
                         const std::string& name) {
  const auto known = facts.cdi.find(std::string(cdi_class));
  return known != facts.cdi.end() && known->second.contains(name);
}

// If no file resolves the device, the runtime's error would say less than this one.
Error unresolvable(const GrantRequest& request, const std::string& name) {
  std::string why = "no CDI specification has device " + name;
  if (!request.facts.cdi_problem.empty()) why += ": " + request.facts.cdi_problem;
  return {ErrorCode::kUnavailable,
          fmt::format("cannot allocate \"{}\" through CDI: {}", request.offer.name.text, why)};
}

Result<std::vector<std::string>> cdi_names(const GrantRequest& request) {
  std::vector<std::string> names;
  for (const std::string& id : device_names(request)) {
    const std::string name = cdi_device_name(id);
    if (!is_in_specification(request.facts, kCdiGpu, name)) return unresolvable(request, name);
    names.push_back(cdi_qualified_name(kCdiGpu, name));
  }
  for (const unsigned channel : request.facts.imex_channels) {
    const std::string name = std::to_string(channel);
    if (is_in_specification(request.facts, kCdiImexChannel, name)) {
      names.push_back(cdi_qualified_name(kCdiImexChannel, name));
    }
  }
  for (const auto& [enabled, cdi_class] :
       {std::pair{request.options.gdrcopy, kCdiGdrcopy}, std::pair{request.options.gds, kCdiGds},
        std::pair{request.options.mofed, kCdiMofed}}) {
    if (enabled && is_in_specification(request.facts, cdi_class, std::string(kCdiAll))) {
      names.push_back(cdi_qualified_name(cdi_class, kCdiAll));
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> device_names(const GrantRequest& request) {
  std::vector<std::string> names;
  for (const HeldDevice& held : request.devices) {
    const bool by_uuid = request.options.ids == DeviceIdStrategy::kUuid;
    names.push_back(by_uuid ? held.device->uuid : held.device->runtime_index());
  }
  return names;
}

bool only_by_cdi(const DeviceListStrategy& list) {
  return list.any_cdi() && !list.envvar && !list.volume_mounts;
}

Status add_cdi(const GrantRequest& request, ContainerGrant& grant) {
  const DeviceListStrategy& list = request.options.list;
  if (!list.any_cdi()) return Done{};
  const Result<std::vector<std::string>> names = cdi_names(request);
  if (!names) return names.error();
  if (list.cdi_annotations) {
    grant.annotations[request.options.cdi_annotation_prefix + "nvidia-device-plugin_" +
                      fingerprint(request.offer, *names)] = join(*names, ",");
  }
  if (list.cdi_cri) grant.cdi_devices = *names;
  return Done{};
}

void add_nodes(const GrantRequest& request, const std::string& permissions, ContainerGrant& grant) {
  // Two slices of one GPU share its node.
  const auto add = [&](const std::string& path) {
    if (std::ranges::find(grant.nodes, path, &GrantedNode::container_path) == grant.nodes.end()) {
      grant.nodes.push_back({path, below(request.options.dev_root, path), permissions});
    }
  };
  for (const std::string& path : request.facts.control_nodes) add(path);
  for (const HeldDevice& held : request.devices) {
    if (held.device->minor) add(fmt::format("/dev/nvidia{}", *held.device->minor));
    for (const unsigned cap : held.device->caps) {
      add(fmt::format("/dev/nvidia-caps/nvidia-cap{}", cap));
    }
  }
  for (const unsigned channel : request.facts.imex_channels) {
    add(fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel));
  }
}

void add_driver_mount(const GrantRequest& request, ContainerGrant& grant) {
  for (const auto* folder : {&request.options.driver_mount, &request.options.vulkan_mount}) {
    if (!*folder) continue;
    grant.mounts.push_back({(*folder)->container_path, (*folder)->host_path, true});
  }
}

}  // namespace tranche::core
