// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/grant/cdi_names.h"
#include "core/grant/dialect.h"
#include "core/grant/parts.h"

namespace tranche::core {
namespace {

// Whether the device, or the whole GPU that it is a slice of, is granted.
bool is_granted(const GrantRequest& request, const OfferedDevice& device) {
  return std::ranges::any_of(request.devices, [&](const HeldDevice& held) {
    return held.device->uuid == device.uuid || held.device->uuid == device.gpu.text;
  });
}

// Whether the configured strategies can pass the device to containers.
bool is_nameable(const GrantRequest& request, const OfferedDevice& device) {
  if (!request.options.list.any_cdi()) return true;
  const auto known = request.facts.cdi.find(std::string(kCdiGpu));
  const bool by_uuid = request.options.ids == DeviceIdStrategy::kUuid;
  return known != request.facts.cdi.end() &&
         known->second.contains(cdi_device_name(by_uuid ? device.uuid : device.runtime_index()));
}

// The granted devices and every other device of the node that is not excluded.
GrantRequest for_all(const GrantRequest& request) {
  GrantRequest all{request.offer, request.options, request.facts, request.devices};
  for (const OfferedDevice& device : request.facts.devices) {
    if (is_granted(request, device) || request.facts.excluded.contains(device.gpu.text)) continue;
    all.devices.push_back({&device, 1});
  }
  std::ranges::sort(all.devices, {}, [](const HeldDevice& held) {
    return std::pair(held.device->gpu_index, held.device->mig_index);
  });
  return all;
}

// The reachable part of these: drops devices that are neither granted nor available, because they
// must not keep a node pod from starting.
GrantRequest reachable(const GrantRequest& request) {
  if (request.offer.terms.exposure != Exposure::kAll) return request;
  GrantRequest all = for_all(request);
  std::erase_if(all.devices, [&](const HeldDevice& held) {
    return !is_granted(request, *held.device) && !is_nameable(request, *held.device);
  });
  return all;
}

NestedGrant nested_grant(const GrantRequest& request) {
  NestedGrant grant{.resource = request.offer.name.text,
                    .driver_version = request.facts.driver_version};
  for (const HeldDevice& held : request.devices) {
    const OfferedDevice& device = *held.device;
    NestedDevice nested{.uuid = device.uuid,
                        .gpu = device.gpu.text,
                        .index = device.runtime_index(),
                        .minor = device.minor,
                        .model = device.model,
                        .memory_bytes = device.memory_bytes,
                        .form = request.offer.terms.form,
                        .shares = held.shares,
                        .shares_in_all = device.shares()};
    if (device.share_bytes > 0) nested.granted_bytes = held.bytes();
    grant.devices.push_back(std::move(nested));
  }
  return grant;
}

}  // namespace

Result<ContainerGrant> nested_host_grant(const GrantRequest& request) {
  const DeviceListStrategy& list = request.options.list;
  const Exposure exposure = request.offer.terms.exposure;
  Result<ContainerGrant> grant = nvidia_grant(reachable(request));
  if (!grant) return grant.error();
  // With volume mounts the variable names their folder.
  if (exposure == Exposure::kEnvvar && list.envvar && !list.volume_mounts) {
    grant->env["NVIDIA_VISIBLE_DEVICES"] = join(device_names(for_all(request)), ",");
  }
  grant->env["NVIDIA_ALLOCATED_DEVICES"] = join(device_names(request), ",");
  grant->nested = nested_grant(request);
  return grant;
}

}  // namespace tranche::core
