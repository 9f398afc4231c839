// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/read_topology.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tranche::node::nvml {
namespace {

PcieDistance distance(int level) {
  switch (level) {
    case abi::kTopologyInternal: return PcieDistance::kSameBoard;
    case abi::kTopologySingle: return PcieDistance::kOneSwitch;
    case abi::kTopologyMultiple: return PcieDistance::kSeveralSwitches;
    case abi::kTopologyHostBridge: return PcieDistance::kHostBridge;
    case abi::kTopologyNode: return PcieDistance::kSameNode;
    case abi::kTopologySystem: return PcieDistance::kAcrossSystem;
    default: return PcieDistance::kUnknown;
  }
}

struct LinksOfGpu {
  unsigned to_switches = 0;
  std::map<PciAddress, unsigned> to_peers;
};

LinksOfGpu read_links(const Functions& api, abi::Device handle) {
  LinksOfGpu links;
  if (api.nvlink_state == nullptr) return links;
  constexpr unsigned kMoreThanAnyGpuHas = 64;
  for (unsigned link = 0; link < kMoreThanAnyGpuHas; ++link) {
    int state = 0;
    const abi::Return code = api.nvlink_state(handle, link, &state);
    // If the first link is unsupported, the GPU has none; later ones may be unused.
    if (code == abi::kInvalidArgument || (code == abi::kNotSupported && link == 0)) break;
    if (code != abi::kSuccess || state != 1) continue;
    int type = abi::kRemoteGpu;
    if (api.nvlink_remote_type != nullptr &&
        api.nvlink_remote_type(handle, link, &type) == abi::kSuccess &&
        type == abi::kRemoteSwitch) {
      ++links.to_switches;
      continue;
    }
    abi::PciInfo peer{};
    if (api.nvlink_remote_pci != nullptr &&
        api.nvlink_remote_pci(handle, link, &peer) == abi::kSuccess) {
      ++links.to_peers[PciAddress{peer.domain, peer.bus, peer.device, 0}];
    }
  }
  // Older drivers only count the links to switches.
  abi::FieldValue field{};
  field.field_id = abi::kFieldNvSwitchLinkCount;
  field.result = abi::kUnknown;
  if (links.to_switches == 0 && api.field_values != nullptr &&
      api.field_values(handle, 1, &field) == abi::kSuccess && field.result == abi::kSuccess) {
    links.to_switches = field.value.ui;
  }
  return links;
}

unsigned nvlinks_between(const LinksOfGpu& a, const LinksOfGpu& b,
                         const std::optional<PciAddress>& pci_b) {
  unsigned count = std::min(a.to_switches, b.to_switches);
  if (pci_b) {
    const auto direct = a.to_peers.find(*pci_b);
    if (direct != a.to_peers.end()) count += direct->second;
  }
  return count;
}

}  // namespace

Topology read_topology(const Session& session, const std::vector<PlacedGpu>& gpus) {
  const Functions& api = session.api();
  std::vector<GpuUuid> uuids;
  std::vector<LinksOfGpu> links;
  for (const PlacedGpu& gpu : gpus) {
    uuids.push_back(gpu.uuid);
    links.push_back(read_links(api, gpu.handle));
  }
  Topology topology(std::move(uuids));
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      GpuLink link;
      int level = -1;
      if (api.common_ancestor != nullptr &&
          api.common_ancestor(gpus[a].handle, gpus[b].handle, &level) == abi::kSuccess) {
        link.pcie = distance(level);
      }
      // If the two sides disagree, one has a link that is down.
      link.nvlinks = std::min(nvlinks_between(links[a], links[b], gpus[b].pci),
                              nvlinks_between(links[b], links[a], gpus[a].pci));
      topology.set(a, b, link);
    }
  }
  return topology;
}

}  // namespace tranche::node::nvml
