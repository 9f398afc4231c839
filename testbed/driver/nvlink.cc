// SPDX-License-Identifier: Apache-2.0
//
// NVLinks one by one, and the fabric they make.
#include <array>
#include <cstring>
#include <string>

#include "base/text.h"
#include "testbed/driver/call.h"
#include "testbed/driver/more_abi.h"
#include "testbed/driver/pci_info.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)
using tranche::testbed::parse_number;

namespace {

// Runs the body for an existing link. A GPU without NVLink, or with none wired
// (passed through alone, say), supports none of these calls; a single slot that
// is not wired is supported as little.
abi::Return on_link(std::string_view function, abi::Device device, unsigned link,
                    const std::function<abi::Return(Target&, const NvLink&)>& body) {
  return on_gpu(function, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (target.gpu.links.empty()) return abi::kNotSupported;
    if (link >= target.gpu.model.nvlinks) return abi::kInvalidArgument;
    if (link >= target.gpu.links.size()) return abi::kNotSupported;
    return body(target, target.gpu.links[link]);
  });
}

// A link is up when both its ends are.
bool is_up(const Target& target, const NvLink& link) {
  if (!link.active || link.peer == NvLink::Peer::kSwitch) return link.active;
  for (const Gpu& other : target.world().gpus) {
    if (other.pci == link.pci) return other.state != Gpu::State::kOffBus;
  }
  return false;
}

abi::Return remote_pci_info(std::string_view function, abi::Device device, unsigned link,
                            const std::function<void(const Gpu&)>& fill) {
  return on_link(function, device, link, [&](Target& target, const NvLink& each) -> abi::Return {
    if (!each.pci) return abi::kNotSupported;
    for (const Gpu& other : target.world().gpus) {
      if (other.pci != *each.pci) continue;
      fill(other);
      return abi::kSuccess;
    }
    // A switch. What it is beyond its address is of no interest to anybody.
    Gpu stranger;
    stranger.pci = *each.pci;
    stranger.model.device_id = 0x22a3;
    fill(stranger);
    return abi::kSuccess;
  });
}

// The text form, dashes left out, as bytes.
std::array<unsigned char, 16> uuid_bytes(std::string text) {
  std::erase(text, '-');
  std::array<unsigned char, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size() && 2 * i + 2 <= text.size(); ++i) {
    bytes.at(i) = parse_number<unsigned char>(text.substr(2 * i, 2), 16).value_or(0);
  }
  return bytes;
}

layout::FabricInfoV3 fabric_of(const Fabric& fabric) {
  layout::FabricInfoV3 info{.status = fabric.status,
                            .clique_id = fabric.clique,
                            .state = static_cast<unsigned char>(fabric.state),
                            .health_mask = fabric.health_mask,
                            .health_summary = static_cast<unsigned char>(fabric.health_summary)};
  const auto bytes = uuid_bytes(fabric.cluster);
  std::memcpy(info.cluster_uuid, bytes.data(), bytes.size());
  return info;
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetNvLinkState(abi::Device device, unsigned link, unsigned* active) {
  return on_link(__func__, device, link, [&](Target& target, const NvLink& each) {
    return answer(active, is_up(target, each) ? 1 : 0);
  });
}

abi::Return nvmlDeviceGetNvLinkVersion(abi::Device device, unsigned link, unsigned* version) {
  return on_link(__func__, device, link, [&](Target& target, const NvLink&) {
    return answer(version, target.gpu.model.nvlink_version);
  });
}

// 0 P2P, 1 system memory, 2 P2P atomics, 3 atomics on system memory, 4 SLI,
// 5 whether the link is valid.
abi::Return nvmlDeviceGetNvLinkCapability(abi::Device device, unsigned link, int capability,
                                          unsigned* has) {
  return on_link(__func__, device, link, [&](Target&, const NvLink&) -> abi::Return {
    if (capability < 0 || capability > 5) return abi::kInvalidArgument;
    return answer(has, capability == 4 ? 0 : 1);
  });
}

abi::Return nvmlDeviceGetNvLinkRemoteDeviceType(abi::Device device, unsigned link, int* type) {
  return on_link(__func__, device, link, [&](Target&, const NvLink& each) {
    return answer(type, each.peer == NvLink::Peer::kGpu ? abi::kRemoteGpu : abi::kRemoteSwitch);
  });
}

abi::Return nvmlDeviceGetNvLinkRemotePciInfo(abi::Device device, unsigned link, void* info) {
  if (info == nullptr) return call(__func__, [](Call&) { return abi::kInvalidArgument; });
  return remote_pci_info(__func__, device, link, [&](const Gpu& gpu) {
    fill_old_pci_info(gpu, info, sizeof(layout::OldPciInfo));
  });
}

abi::Return nvmlDeviceGetNvLinkRemotePciInfo_v2(abi::Device device, unsigned link,
                                                abi::PciInfo* info) {
  if (info == nullptr) return call(__func__, [](Call&) { return abi::kInvalidArgument; });
  return remote_pci_info(__func__, device, link,
                         [&](const Gpu& gpu) { fill_pci_info(gpu, *info); });
}

abi::Return nvmlDeviceGetGpuFabricInfo(abi::Device device, abi::FabricInfo* info) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (info == nullptr) return abi::kInvalidArgument;
    if (target.call.branch() < 525 || target.gpu.model.architecture < 9) return abi::kNotSupported;
    const layout::FabricInfoV3 fabric = fabric_of(target.gpu.fabric);
    *info = {.status = fabric.status, .clique_id = fabric.clique_id, .state = fabric.state};
    std::memcpy(info->cluster_uuid, fabric.cluster_uuid, sizeof(info->cluster_uuid));
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetGpuFabricInfoV(abi::Device device, void* info) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (info == nullptr) return abi::kInvalidArgument;
    if (target.call.branch() < 550 || target.gpu.model.architecture < 9) return abi::kNotSupported;
    const unsigned version = *static_cast<const unsigned*>(info);
    const bool third = version == layout::kFabricInfoV3 && target.call.branch() >= 580;
    if (version != abi::kFabricInfoV2 && !third) return abi::kArgumentVersionMismatch;
    layout::FabricInfoV3 made = fabric_of(target.gpu.fabric);
    made.version = version;
    // The second version is the beginning of the third.
    std::memcpy(info, &made, third ? sizeof(made) : sizeof(abi::FabricInfoV2));
    return abi::kSuccess;
  });
}

}  // extern "C"
