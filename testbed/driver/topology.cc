// SPDX-License-Identifier: Apache-2.0
//
// What lies between GPUs and next to them: the PCIe tree, CPUs, peers.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)
using tranche::testbed::parse_number;
using tranche::testbed::split;

namespace {

int level_number(PcieLevel level) {
  switch (level) {
    case PcieLevel::kBoard: return abi::kTopologyInternal;
    case PcieLevel::kSwitch: return abi::kTopologySingle;
    case PcieLevel::kSwitches: return abi::kTopologyMultiple;
    case PcieLevel::kBridge: return abi::kTopologyHostBridge;
    case PcieLevel::kNode: return abi::kTopologyNode;
    case PcieLevel::kSystem: return abi::kTopologySystem;
  }
  return abi::kTopologySystem;
}

constexpr unsigned kBits = 8 * sizeof(unsigned long);

void set_bit(unsigned long* set, unsigned size, unsigned bit) {
  if (bit / kBits < size) set[bit / kBits] |= 1UL << bit % kBits;
}

// "0-23,48-71" into the bits of an array; what does not fit is left out.
void set_cpus(const std::string& cpus, unsigned long* set, unsigned size) {
  for (const std::string& part : split(cpus, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    const auto first = parse_number<unsigned>(ends.front());
    const auto last = parse_number<unsigned>(ends.back());
    if (!first || !last) continue;
    const unsigned end = std::min(*last, size * kBits - 1);
    for (unsigned cpu = *first; cpu <= end; ++cpu) set_bit(set, size, cpu);
  }
}

abi::Return cpu_affinity(std::string_view function, abi::Device device, unsigned size,
                         unsigned long* set) {
  return on_gpu(function, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (set == nullptr || size == 0) return abi::kInvalidArgument;
    if (target.gpu.cpus.empty()) return abi::kNotSupported;
    std::fill_n(set, size, 0UL);
    set_cpus(target.gpu.cpus, set, size);
    return abi::kSuccess;
  });
}

bool have_direct_link(const Gpu& a, const Gpu& b) {
  return std::ranges::any_of(a.links, [&](const NvLink& link) {
    return link.active && link.peer == NvLink::Peer::kGpu && link.pci == b.pci;
  });
}

bool has_switch_link(const Gpu& gpu) {
  return std::ranges::any_of(gpu.links, [](const NvLink& link) {
    return link.active && link.peer == NvLink::Peer::kSwitch;
  });
}

bool are_linked(const Gpu& a, const Gpu& b) {
  return have_direct_link(a, b) || (has_switch_link(a) && has_switch_link(b));
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetTopologyCommonAncestor(abi::Device a, abi::Device b, int* level) {
  return on_pair(__func__, a, b, [&](Target& target, const Gpu& other) -> abi::Return {
    // There is no answer for a GPU and itself.
    if (target.gpu.uuid == other.uuid) return abi::kNotSupported;
    return answer(level, level_number(level_between(target.world(), target.gpu, other)));
  });
}

abi::Return nvmlDeviceGetTopologyNearestGpus(abi::Device device, int level, unsigned* count,
                                             abi::Device* devices) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    std::vector<abi::Device> near;
    for (const SeenGpu& seen : *target.call.session.gpus()) {
      const Gpu* other = find_gpu(target.world(), seen.uuid);
      if (other == nullptr || other->uuid == target.gpu.uuid) continue;
      if (level_number(level_between(target.world(), target.gpu, *other)) != level) continue;
      near.push_back(handle_of(target.call, *other));
    }
    if (count == nullptr || (devices == nullptr && *count != 0)) return abi::kInvalidArgument;
    if (devices == nullptr) return answer(count, near.size());
    return copy_array<abi::Device>(near, count, devices);
  });
}

abi::Return nvmlDeviceGetCpuAffinity(abi::Device device, unsigned size, unsigned long* set) {
  return cpu_affinity(__func__, device, size, set);
}

abi::Return nvmlDeviceGetCpuAffinityWithinScope(abi::Device device, unsigned size,
                                                unsigned long* set, unsigned) {
  return cpu_affinity(__func__, device, size, set);
}

abi::Return nvmlDeviceGetMemoryAffinity(abi::Device device, unsigned size, unsigned long* set,
                                        unsigned) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (set == nullptr || size == 0) return abi::kInvalidArgument;
    if (target.gpu.numa_node < 0) return abi::kNotSupported;
    std::fill_n(set, size, 0UL);
    set_bit(set, size, static_cast<unsigned>(target.gpu.numa_node));
    return abi::kSuccess;
  });
}

// Only of GPUs whose memory is a NUMA node of its own.
abi::Return nvmlDeviceGetNumaNodeId(abi::Device device, unsigned* node) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (target.call.branch() < 550 || !target.gpu.memory_numa_node) return abi::kNotSupported;
    return answer(node, *target.gpu.memory_numa_node);
  });
}

// What to ask for: 0 read, 1 write, 2 NVLink, 3 atomics, 4 the property. The
// answer: 0 fine, 3 not over this chipset's bridge, 5 not supported.
abi::Return nvmlDeviceGetP2PStatus(abi::Device a, abi::Device b, int what, int* status) {
  return on_pair(__func__, a, b, [&](Target& target, const Gpu& other) -> abi::Return {
    if (what < 0 || what > 4) return abi::kInvalidArgument;
    const bool linked = are_linked(target.gpu, other);
    const bool cut = target.gpu.mig.enabled || other.mig.enabled;
    const bool same = target.gpu.uuid == other.uuid;
    if (same || cut || (what == 2 && !linked)) return answer(status, 5);
    const bool near = level_between(target.world(), target.gpu, other) != PcieLevel::kSystem;
    return answer(status, linked || near ? 0 : 3);
  });
}

}  // extern "C"
