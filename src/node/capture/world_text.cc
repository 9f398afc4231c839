// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "node/capture/captured.h"

namespace tranche::node {
namespace {

using YAML::BeginMap;
using YAML::BeginSeq;
using YAML::EndMap;
using YAML::EndSeq;
using YAML::Flow;
using YAML::Key;
using YAML::Value;

template <typename T>
void put(YAML::Emitter& out, const char* key, const T& value) {
  out << Key << key << Value << value;
}

template <typename T>
void put(YAML::Emitter& out, const char* key, const std::optional<T>& value) {
  if (value) out << Key << key << Value << *value;
}

void put_text(YAML::Emitter& out, const char* key, const std::string& text) {
  if (!text.empty()) out << Key << key << Value << YAML::DoubleQuoted << text;
}

std::string to_text(const CapturedLink& link) {
  std::string text = link.peer == CapturedLink::Peer::kGpu ? "gpu" : "switch";
  if (link.pci) text += " " + to_string(*link.pci);
  return link.active ? text : text + " down";
}

// Writes equal consecutive links once, with their number.
void put_links(YAML::Emitter& out, const std::vector<CapturedLink>& links) {
  if (links.empty()) return;
  out << Key << "links" << Value << Flow << BeginSeq;
  for (std::size_t i = 0; i < links.size();) {
    std::size_t end = i;
    while (end < links.size() && links[end] == links[i]) ++end;
    const std::string text = to_text(links[i]);
    out << YAML::DoubleQuoted << (end - i == 1 ? text : fmt::format("{} x {}", end - i, text));
    i = end;
  }
  out << EndSeq;
}

void put_profile(YAML::Emitter& out, const CapturedProfile& profile) {
  out << Flow << BeginMap;
  put_text(out, "name", profile.name);
  put(out, "argument", profile.argument);
  put(out, "id", profile.id);
  put(out, "slices", profile.slices);
  put(out, "instances", profile.instances);
  put(out, "memory_mib", profile.memory_mib);
  put(out, "multiprocessors", profile.multiprocessors);
  put(out, "copy_engines", profile.copy_engines);
  put(out, "decoders", profile.decoders);
  put(out, "encoders", profile.encoders);
  put(out, "jpegs", profile.jpegs);
  put(out, "ofas", profile.ofas);
  put(out, "starts", profile.starts);
  put(out, "size", profile.size);
  out << EndMap;
}

void put_mig_table(YAML::Emitter& out, const std::vector<CapturedProfile>& profiles) {
  if (profiles.empty()) return;
  unsigned slices = 0;
  unsigned units = 0;
  for (const CapturedProfile& profile : profiles) {
    slices = std::max(slices, profile.slices);
    for (const unsigned start : profile.starts) units = std::max(units, start + profile.size);
  }
  out << Key << "mig_table" << Value << BeginMap;
  put(out, "slices", slices);
  put(out, "units", units);
  out << Key << "profiles" << Value << BeginSeq;
  for (const CapturedProfile& profile : profiles) put_profile(out, profile);
  out << EndSeq << EndMap;
}

void put_mig(YAML::Emitter& out, const CapturedGpu& gpu) {
  if (!gpu.mig_enabled) return;
  out << Key << "mig" << Value << BeginMap;
  put(out, "enabled", true);
  out << Key << "layout" << Value << BeginSeq;
  for (const CapturedGpuInstance& instance : gpu.instances) {
    out << Flow << BeginMap;
    put_text(out, "gi", instance.profile);
    put(out, "id", instance.id);
    put(out, "start", instance.start);
    out << Key << "ci" << Value << Flow << BeginSeq;
    for (const CapturedComputeInstance& compute : instance.compute) {
      out << Flow << BeginMap;
      put(out, "slices", compute.slices);
      put(out, "id", compute.id);
      put(out, "start", compute.start);
      put(out, "index", compute.index);
      put_text(out, "uuid", compute.uuid);
      out << EndMap;
    }
    out << EndSeq << EndMap;
  }
  out << EndSeq << EndMap;
}

void put_model(YAML::Emitter& out, const CapturedGpu& gpu) {
  put_text(out, "name", gpu.name);
  put(out, "brand", gpu.brand);
  put(out, "architecture", gpu.architecture);
  put(out, "compute_major", gpu.compute_major);
  put(out, "compute_minor", gpu.compute_minor);
  put(out, "device_id", gpu.device_id);
  put(out, "subsystem_id", gpu.subsystem_id);
  put(out, "subsystem_vendor", gpu.subsystem_vendor);
  put(out, "pci_class", gpu.pci_class);
  put(out, "memory_mib", gpu.memory_mib);
  put(out, "reserved_mib", gpu.reserved_mib);
  put(out, "bar1_mib", gpu.bar1_mib);
  put(out, "multiprocessors", gpu.multiprocessors);
  put(out, "cores", gpu.cores);
  put(out, "power_limit_w", gpu.power_limit_w);
  put(out, "pcie_generation", gpu.pcie_generation);
  put_text(out, "board_part", gpu.board_part);
  put_text(out, "vbios", gpu.vbios);
  put(out, "has_serial", gpu.has_serial);
  put(out, "ecc", gpu.ecc);
  put(out, "remaps_rows", gpu.remaps_rows);
  put(out, "fabric_capable", gpu.fabric_capable);
  put(out, "nvlinks", gpu.links.size());
  put(out, "nvlink_version", gpu.nvlink_version);
  put(out, "nvlink_mbps", gpu.nvlink_mbps);
  put_mig_table(out, gpu.profiles);
}

void put_ecc(YAML::Emitter& out, const char* key, const std::optional<std::uint64_t>& corrected,
             const std::optional<std::uint64_t>& uncorrected) {
  if (!corrected && !uncorrected) return;
  out << Key << key << Value << Flow << BeginMap;
  put(out, "corrected", corrected);
  put(out, "uncorrected", uncorrected);
  out << EndMap;
}

void put_flag(YAML::Emitter& out, const char* key, const std::optional<std::uint64_t>& number) {
  if (number) put(out, key, *number != 0);
}

void put_vitals(YAML::Emitter& out, const CapturedGpu& gpu) {
  out << Key << "vitals" << Value << BeginMap;
  put(out, "energy_mj", gpu.energy_mj);
  put_ecc(out, "ecc_volatile", gpu.ecc_volatile_corrected, gpu.ecc_volatile_uncorrected);
  put_ecc(out, "ecc_aggregate", gpu.ecc_aggregate_corrected, gpu.ecc_aggregate_uncorrected);
  put(out, "pcie_replays", gpu.pcie_replays);
  put(out, "remaps_correctable", gpu.remaps_correctable);
  put(out, "remaps_uncorrectable", gpu.remaps_uncorrectable);
  put_flag(out, "remap_pending", gpu.remap_pending);
  put_flag(out, "remap_failed", gpu.remap_failed);
  put(out, "recovery_action", gpu.recovery_action);
  put(out, "temperature_c", gpu.temperature_c);
  put(out, "power_mw", gpu.power_mw);
  out << EndMap;
}

void put_gpu(YAML::Emitter& out, const CapturedGpu& gpu) {
  out << BeginMap;
  put_text(out, "uuid", gpu.uuid);
  put_text(out, "pci", to_string(gpu.pci));
  put(out, "minor", gpu.minor);
  put_model(out, gpu);
  put(out, "numa", gpu.numa_node);
  put_text(out, "cpus", gpu.cpus);
  put(out, "module_id", gpu.module_id);
  put(out, "drm_card", gpu.drm_card);
  out << Key << "drm_render" << Value << gpu.drm_render.value_or(0);
  put(out, "persistence", gpu.persistence);
  put(out, "compute_mode", gpu.compute_mode);
  put(out, "virtualization", gpu.virtualization);
  put_links(out, gpu.links);
  if (!gpu.fabric.state.empty()) {
    out << Key << "fabric" << Value << Flow << BeginMap;
    put(out, "state", gpu.fabric.state);
    put(out, "status", gpu.fabric.status);
    put(out, "clique", gpu.fabric.clique);
    if (!gpu.fabric.cluster.empty()) put(out, "cluster", gpu.fabric.cluster);
    out << EndMap;
  }
  put_mig(out, gpu);
  if (!gpu.processes.empty()) {
    out << Key << "processes" << Value << BeginSeq;
    for (const CapturedProcess& process : gpu.processes) {
      out << Flow << BeginMap;
      put(out, "pid", process.pid);
      put(out, "memory_mib", process.memory_mib);
      out << EndMap;
    }
    out << EndSeq;
  }
  put_vitals(out, gpu);
  out << EndMap;
}

const char* level_text(PcieDistance distance) {
  switch (distance) {
    case PcieDistance::kSameBoard: return "INT";
    case PcieDistance::kOneSwitch: return "PIX";
    case PcieDistance::kSeveralSwitches: return "PXB";
    case PcieDistance::kHostBridge: return "PHB";
    case PcieDistance::kSameNode: return "NODE";
    case PcieDistance::kAcrossSystem: return "SYS";
    case PcieDistance::kUnknown: break;
  }
  return nullptr;
}

void put_levels(YAML::Emitter& out, const CapturedNode& node) {
  out << Key << "pair_levels" << Value << BeginSeq;
  for (std::size_t a = 0; a < node.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < node.gpus.size(); ++b) {
      const char* level = level_text(node.topology.between(a, b).pcie);
      if (level == nullptr) continue;
      out << Flow << BeginMap;
      put_text(out, "a", to_string(node.gpus[a].pci));
      put_text(out, "b", to_string(node.gpus[b].pci));
      put(out, "level", level);
      out << EndMap;
    }
  }
  out << EndSeq;
}

}  // namespace

CapturedNode anonymous(CapturedNode node) {
  node.boot_id.clear();
  for (CapturedGpu& gpu : node.gpus) {
    gpu.uuid.clear();
    gpu.processes.clear();
    for (CapturedGpuInstance& instance : gpu.instances) {
      for (CapturedComputeInstance& compute : instance.compute) compute.uuid.clear();
    }
  }
  return node;
}

std::string to_world(const CapturedNode& node) {
  YAML::Emitter out;
  out << BeginMap;
  out << Key << "driver" << Value << Flow << BeginMap;
  put(out, "version", node.driver_version);
  put(out, "cuda", node.cuda_version);
  put(out, "open_modules", node.open_modules);
  out << EndMap;
  put_text(out, "boot_id", node.boot_id);
  out << Key << "gpus" << Value << BeginSeq;
  for (const CapturedGpu& gpu : node.gpus) put_gpu(out, gpu);
  out << EndSeq;
  if (node.gpus.size() > 1) put_levels(out, node);
  out << Key << "extras" << Value << Flow << BeginMap;
  put(out, "nvidia_fs", node.nvidia_fs);
  put(out, "gdrdrv", node.gdrdrv);
  put(out, "infiniband", node.infiniband);
  put(out, "imex_channels", node.imex_channels);
  out << EndMap << EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace tranche::node
