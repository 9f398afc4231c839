// SPDX-License-Identifier: Apache-2.0
//
// The keys of a world file, once for reading and for writing: describe() names
// each member to a visitor, with what it is when the file does not say. The
// reader fills members in, the writer leaves out those that equal their base.
//
// Internal to parse.cc and emit.cc.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

#include "testbed/world/world.h"

namespace tranche::testbed::sim {

// T, const or not.
template <typename X, typename T>
concept Some = std::same_as<std::remove_const_t<X>, T>;

template <typename E>
struct Names;  // of an enum's values, as world files spell them

template <>
struct Names<Gpu::State> {
  static constexpr std::array<std::pair<std::string_view, Gpu::State>, 5> kAll = {{
      {"present", Gpu::State::kPresent},
      {"lost", Gpu::State::kLost},
      {"unreachable", Gpu::State::kUnreachable},
      {"off_bus", Gpu::State::kOffBus},
      {"reset_required", Gpu::State::kResetRequired},
  }};
};

template <>
struct Names<Fabric::State> {
  static constexpr std::array<std::pair<std::string_view, Fabric::State>, 4> kAll = {{
      {"not_supported", Fabric::State::kNotSupported},
      {"not_started", Fabric::State::kNotStarted},
      {"in_progress", Fabric::State::kInProgress},
      {"completed", Fabric::State::kCompleted},
  }};
};

template <>
struct Names<Process::Kind> {
  static constexpr std::array<std::pair<std::string_view, Process::Kind>, 3> kAll = {{
      {"compute", Process::Kind::kCompute},
      {"graphics", Process::Kind::kGraphics},
      {"mps", Process::Kind::kMps},
  }};
};

// As `nvidia-smi topo -m` shows them; INT is one board.
template <>
struct Names<PcieLevel> {
  static constexpr std::array<std::pair<std::string_view, PcieLevel>, 6> kAll = {{
      {"INT", PcieLevel::kBoard},
      {"PIX", PcieLevel::kSwitch},
      {"PXB", PcieLevel::kSwitches},
      {"PHB", PcieLevel::kBridge},
      {"NODE", PcieLevel::kNode},
      {"SYS", PcieLevel::kSystem},
  }};
};

// Whether the writer puts it on one line.
template <typename T>
inline constexpr bool kOneLine =
    std::same_as<T, Process> || std::same_as<T, MemoryLimit> || std::same_as<T, PairLevel> ||
    std::same_as<T, Event> || std::same_as<T, LogRecord> || std::same_as<T, CallFault> ||
    std::same_as<T, EccCounts> || std::same_as<T, Place> || std::same_as<T, GpuInstanceProfile>;

void describe(auto& v, Some<Driver> auto& x, const Driver& base) {
  v.field("module_version", x.module_version, base.module_version);
  v.field("open_modules", x.open_modules, base.open_modules);
  v.field("loaded", x.loaded, base.loaded);
}

void describe(auto& v, Some<GpuInstanceProfile> auto& x, const GpuInstanceProfile& base) {
  v.field("name", x.name, base.name);
  v.field("argument", x.argument, base.argument);
  v.field("id", x.id, base.id);
  v.field("slices", x.slices, base.slices);
  v.field("instances", x.instances, base.instances);
  v.field("memory_mib", x.memory_mib, base.memory_mib);
  v.field("multiprocessors", x.multiprocessors, base.multiprocessors);
  v.field("copy_engines", x.copy_engines, base.copy_engines);
  v.field("decoders", x.decoders, base.decoders);
  v.field("encoders", x.encoders, base.encoders);
  v.field("jpegs", x.jpegs, base.jpegs);
  v.field("ofas", x.ofas, base.ofas);
  v.field("starts", x.starts, base.starts);
  v.field("size", x.size, base.size);
}

void describe(auto& v, Some<MigTable> auto& x, const MigTable& base) {
  v.field("slices", x.slices, base.slices);
  v.field("units", x.units, base.units);
  v.field("profiles", x.profiles, base.profiles);
}

void describe(auto& v, Some<Model> auto& x, const Model& base) {
  v.field("name", x.name, base.name);
  v.field("brand", x.brand, base.brand);
  v.field("architecture", x.architecture, base.architecture);
  v.field("compute_major", x.compute_major, base.compute_major);
  v.field("compute_minor", x.compute_minor, base.compute_minor);
  v.field("device_id", x.device_id, base.device_id);
  v.field("subsystem_id", x.subsystem_id, base.subsystem_id);
  v.field("subsystem_vendor", x.subsystem_vendor, base.subsystem_vendor);
  v.field("pci_class", x.pci_class, base.pci_class);
  v.field("memory_mib", x.memory_mib, base.memory_mib);
  v.field("reserved_mib", x.reserved_mib, base.reserved_mib);
  v.field("bar1_mib", x.bar1_mib, base.bar1_mib);
  v.field("multiprocessors", x.multiprocessors, base.multiprocessors);
  v.field("cores", x.cores, base.cores);
  v.field("power_limit_w", x.power_limit_w, base.power_limit_w);
  v.field("pcie_generation", x.pcie_generation, base.pcie_generation);
  v.field("board_part", x.board_part, base.board_part);
  v.field("vbios", x.vbios, base.vbios);
  v.field("has_serial", x.has_serial, base.has_serial);
  v.field("ecc", x.ecc, base.ecc);
  v.field("remaps_rows", x.remaps_rows, base.remaps_rows);
  v.field("fabric_capable", x.fabric, base.fabric);
  v.field("coherent", x.coherent, base.coherent);
  v.field("nvlinks", x.nvlinks, base.nvlinks);
  v.field("nvlink_version", x.nvlink_version, base.nvlink_version);
  v.field("nvlink_mbps", x.nvlink_mbps, base.nvlink_mbps);
  v.field("mig_table", x.mig, base.mig);
}

void describe(auto& v, Some<Place> auto& x, const Place& base) {
  v.field("board", x.board, base.board);
  v.field("switch", x.pcie_switch, base.pcie_switch);
  v.field("upstream", x.upstream, base.upstream);
  v.field("bridge", x.bridge, base.bridge);
}

void describe(auto& v, Some<Fabric> auto& x, const Fabric& base) {
  v.field("state", x.state, base.state);
  v.field("status", x.status, base.status);
  v.field("clique", x.clique, base.clique);
  v.field("cluster", x.cluster, base.cluster);
  v.field("health_mask", x.health_mask, base.health_mask);
  v.field("health_summary", x.health_summary, base.health_summary);
}

void describe(auto& v, Some<Process> auto& x, const Process& base) {
  v.field("pid", x.pid, base.pid);
  v.field("name", x.name, base.name);
  v.field("kind", x.kind, base.kind);
  v.field("memory_mib", x.memory_mib, base.memory_mib);
  v.field("sm", x.sm, base.sm);
  v.field("memory", x.memory, base.memory);
  v.field("encoder", x.encoder, base.encoder);
  v.field("decoder", x.decoder, base.decoder);
  v.field("gi", x.gpu_instance, base.gpu_instance);
  v.field("ci", x.compute_instance, base.compute_instance);
}

void describe(auto& v, Some<EccCounts> auto& x, const EccCounts& base) {
  v.field("corrected", x.corrected, base.corrected);
  v.field("uncorrected", x.uncorrected, base.uncorrected);
}

void describe(auto& v, Some<Vitals> auto& x, const Vitals& base) {
  v.field("energy_mj", x.energy_mj, base.energy_mj);
  v.field("ecc_volatile", x.ecc_volatile, base.ecc_volatile);
  v.field("ecc_aggregate", x.ecc_aggregate, base.ecc_aggregate);
  v.field("pcie_replays", x.pcie_replays, base.pcie_replays);
  v.field("remaps_correctable", x.remaps_correctable, base.remaps_correctable);
  v.field("remaps_uncorrectable", x.remaps_uncorrectable, base.remaps_uncorrectable);
  v.field("remap_pending", x.remap_pending, base.remap_pending);
  v.field("remap_failed", x.remap_failed, base.remap_failed);
  v.field("retired_pending", x.retired_pending, base.retired_pending);
  v.field("channel_repair_pending", x.channel_repair_pending, base.channel_repair_pending);
  v.field("tpc_repair_pending", x.tpc_repair_pending, base.tpc_repair_pending);
  v.field("recovery_action", x.recovery_action, base.recovery_action);
  v.field("inforom_valid", x.inforom_valid, base.inforom_valid);
  v.field("temperature_c", x.temperature_c, base.temperature_c);
  v.field("power_mw", x.power_mw, base.power_mw);
  v.field("gpu_utilization", x.gpu_utilization, base.gpu_utilization);
  v.field("memory_utilization", x.memory_utilization, base.memory_utilization);
}

void describe(auto& v, Some<MemoryLimit> auto& x, const MemoryLimit& base) {
  v.field("cgroup", x.cgroup, base.cgroup);
  v.field("soft_bytes", x.soft_bytes, base.soft_bytes);
  v.field("hard_bytes", x.hard_bytes, base.hard_bytes);
  v.field("used_bytes", x.used_bytes, base.used_bytes);
}

// All but model and MIG layout, which need more than their own key.
void describe(auto& v, Some<Gpu> auto& x, const Gpu& base) {
  v.always("uuid", x.uuid);
  v.always("pci", x.pci);
  v.always("minor", x.minor);
  describe(v, x.model, base.model);
  v.field("serial", x.serial, base.serial);
  v.field("numa", x.numa_node, base.numa_node);
  v.field("cpus", x.cpus, base.cpus);
  v.field("memory_numa", x.memory_numa_node, base.memory_numa_node);
  v.field("module_id", x.module_id, base.module_id);
  v.field("drm_card", x.drm_card, base.drm_card);
  v.field("drm_render", x.drm_render, base.drm_render);
  v.field("persistence", x.persistence, base.persistence);
  v.field("compute_mode", x.compute_mode, base.compute_mode);
  v.field("virtualization", x.virtualization, base.virtualization);
  v.field("vgpu_host_driver", x.vgpu_host.driver_version, base.vgpu_host.driver_version);
  v.field("vgpu_host_branch", x.vgpu_host.driver_branch, base.vgpu_host.driver_branch);
  v.field("place", x.place, base.place);
  v.field("links", x.links, base.links);
  v.field("fabric", x.fabric, base.fabric);
  v.field("processes", x.processes, base.processes);
  v.field("memory_limits", x.memory_limits, base.memory_limits);
  v.field("vitals", x.vitals, base.vitals);
  v.field("state", x.state, base.state);
  v.field("generation", x.generation, base.generation);
  v.field("bindings", x.bindings, base.bindings);
}

void describe(auto& v, Some<PairLevel> auto& x, const PairLevel&) {
  v.always("a", x.a);
  v.always("b", x.b);
  v.always("level", x.level);
}

void describe(auto& v, Some<Extras> auto& x, const Extras& base) {
  v.field("nvidia_fs", x.nvidia_fs, base.nvidia_fs);
  v.field("gdrdrv", x.gdrdrv, base.gdrdrv);
  v.field("infiniband", x.infiniband, base.infiniband);
  v.field("imex_channels", x.imex_channels, base.imex_channels);
  v.field("nvswitches", x.nvswitches, base.nvswitches);
}

void describe(auto& v, Some<Event> auto& x, const Event& base) {
  v.field("number", x.number, base.number);
  v.field("gpu", x.gpu, base.gpu);
  v.field("type", x.type, base.type);
  v.field("data", x.data, base.data);
  v.field("gi", x.gpu_instance, base.gpu_instance);
  v.field("ci", x.compute_instance, base.compute_instance);
}

void describe(auto& v, Some<LogRecord> auto& x, const LogRecord& base) {
  v.field("number", x.number, base.number);
  v.field("text", x.text, base.text);
}

void describe(auto& v, Some<CallFault> auto& x, const CallFault& base) {
  v.field("number", x.number, base.number);
  v.field("call", x.call, base.call);
  v.field("gpu", x.gpu, base.gpu);
  v.field("field", x.field, base.field);
  v.field("block", x.blocks, base.blocks);
  v.code("code", x.code, base.code);
  v.field("times", x.times, base.times);
}

}  // namespace tranche::testbed::sim
