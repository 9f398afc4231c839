// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "grant/cdi_names.h"
#include "grant/dialect.h"
#include "grant/parts.h"

namespace tranche {
namespace {

bool is_granted(const GrantRequest& request, const OfferedDevice& device) {
  return std::ranges::any_of(
      request.devices, [&](const HeldDevice& held) { return held.device->uuid == device.uuid; });
}

// Whether containers could be given it in the ways that are configured.
bool is_nameable(const GrantRequest& request, const OfferedDevice& device) {
  if (!request.options.list.any_cdi()) return true;
  const auto known = request.facts.cdi.find(std::string(kCdiGpu));
  const bool by_uuid = request.options.ids == DeviceIdStrategy::kUuid;
  return known != request.facts.cdi.end() &&
         known->second.contains(cdi_device_name(by_uuid ? device.uuid : device.index()));
}

// The same request for every device of the node. One that is not granted and
// cannot be had is left out: it must not keep a node pod from starting.
GrantRequest for_all(const GrantRequest& request, bool must_be_nameable) {
  GrantRequest all{request.offer, request.options, request.facts, {}};
  for (const OfferedDevice& device : request.facts.devices) {
    if (is_granted(request, device) || !must_be_nameable || is_nameable(request, device)) {
      all.devices.push_back({&device, 1});
    }
  }
  return all;
}

NestedGrant nested_grant(const GrantRequest& request) {
  NestedGrant grant{.resource = request.offer.name.text,
                    .driver_version = request.facts.driver_version};
  for (const HeldDevice& held : request.devices) {
    const OfferedDevice& device = *held.device;
    NestedDevice nested{.uuid = device.uuid,
                        .gpu = device.gpu.text,
                        .index = device.index(),
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
  const GrantRequest reachable = exposure == Exposure::kAll ? for_all(request, true) : request;
  Result<ContainerGrant> grant = nvidia_grant(reachable);
  if (!grant) return grant.error();
  // With volume mounts the variable names their folder.
  if (exposure == Exposure::kEnvvar && list.envvar && !list.volume_mounts) {
    grant->env["NVIDIA_VISIBLE_DEVICES"] = join(device_names(for_all(request, false)), ",");
  }
  grant->env["NVIDIA_ALLOCATED_DEVICES"] = join(device_names(request), ",");
  grant->nested = nested_grant(request);
  return grant;
}

}  // namespace tranche
