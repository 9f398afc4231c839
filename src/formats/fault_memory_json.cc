// SPDX-License-Identifier: Apache-2.0
#include "inventory/fault_memory.h"

#include <algorithm>
#include <exception>

#include <nlohmann/json.hpp>

#include "base/json_field.h"

namespace tranche {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

template <typename T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

template <typename T>
void take(const Json& json, const char* key, std::optional<T>& value) {
  if (json.contains(key)) value = json_field<T>(json, key);
}

Json vitals_to_json(const Vitals& vitals) {
  Json json = Json::object();
  put(json, "uncorrectedEcc", vitals.uncorrected_ecc);
  put(json, "energyMillijoules", vitals.energy_mj);
  put(json, "pcieReplays", vitals.pcie_replays);
  return json;
}

Vitals vitals_from_json(const Json& json) {
  Vitals vitals;
  take(json, "uncorrectedEcc", vitals.uncorrected_ecc);
  take(json, "energyMillijoules", vitals.energy_mj);
  take(json, "pcieReplays", vitals.pcie_replays);
  return vitals;
}

Json mig_to_json(const MigDevice& mig) {
  Json json{{"uuid", mig.uuid.text},
            {"index", mig.index},
            {"gpuInstance", mig.gpu_instance},
            {"computeInstance", mig.compute_instance},
            {"computeSlices", mig.profile.compute_slices},
            {"gpuSlices", mig.profile.gpu_slices},
            {"memoryGb", mig.profile.memory_gb},
            {"attribute", mig.profile.attribute},
            {"memoryBytes", mig.memory_bytes}};
  put(json, "gpuInstanceCap", mig.gpu_instance_cap);
  put(json, "computeInstanceCap", mig.compute_instance_cap);
  return json;
}

MigDevice mig_from_json(const Json& json) {
  MigDevice mig{
      .uuid = MigUuid(json_field<std::string>(json, "uuid")),
      .index = json_field<unsigned>(json, "index"),
      .gpu_instance = json_field<unsigned>(json, "gpuInstance"),
      .compute_instance = json_field<unsigned>(json, "computeInstance"),
      .profile = {json_field<unsigned>(json, "computeSlices"),
                  json_field<unsigned>(json, "gpuSlices"), json_field<unsigned>(json, "memoryGb"),
                  json_field<std::string>(json, "attribute")},
      .memory_bytes = json_field<std::uint64_t>(json, "memoryBytes")};
  take(json, "gpuInstanceCap", mig.gpu_instance_cap);
  take(json, "computeInstanceCap", mig.compute_instance_cap);
  return mig;
}

Json gpu_to_json(const Gpu& gpu) {
  Json json{{"uuid", gpu.uuid.text},
            {"index", gpu.index},
            {"model", gpu.model},
            {"memoryBytes", gpu.memory_bytes},
            {"computeMajor", gpu.compute_major},
            {"computeMinor", gpu.compute_minor},
            {"migEnabled", gpu.mig_enabled},
            {"mig", Json::array()}};
  put(json, "minor", gpu.minor);
  put(json, "numaNode", gpu.numa_node);
  if (gpu.pci) json["pci"] = to_string(*gpu.pci);
  for (const MigDevice& mig : gpu.mig) json["mig"].push_back(mig_to_json(mig));
  return json;
}

Gpu gpu_from_json(const Json& json) {
  Gpu gpu{.uuid = GpuUuid(json_field<std::string>(json, "uuid")),
          .index = json_field<unsigned>(json, "index"),
          .model = json_field<std::string>(json, "model"),
          .memory_bytes = json_field<std::uint64_t>(json, "memoryBytes"),
          .compute_major = json_field<unsigned>(json, "computeMajor"),
          .compute_minor = json_field<unsigned>(json, "computeMinor"),
          .mig_enabled = json_field<bool>(json, "migEnabled")};
  take(json, "minor", gpu.minor);
  take(json, "numaNode", gpu.numa_node);
  if (json.contains("pci")) gpu.pci = parse_pci_address(json_field<std::string>(json, "pci"));
  for (const Json& mig : json.at("mig")) gpu.mig.push_back(mig_from_json(mig));
  return gpu;
}

Json fault_to_json(const Fault& fault) {
  Json json{{"gpu", fault.gpu.text},
            {"kind", to_string(fault.kind)},
            {"xid", fault.xid},
            {"text", fault.text},
            {"clearedBy", to_string(fault.clearance)},
            {"bootId", fault.boot_id},
            {"driverAsked", fault.driver_asked},
            {"resetSeen", fault.reset_seen},
            {"readingsNeeded", fault.needed}};
  if (fault.slice) json["slice"] = fault.slice->text;
  return json;
}

Fault fault_from_json(const Json& json) {
  Fault fault{.gpu = GpuUuid(json_field<std::string>(json, "gpu")),
              .xid = json_field<unsigned>(json, "xid"),
              .text = json_field<std::string>(json, "text"),
              .boot_id = json_field<std::string>(json, "bootId"),
              .driver_asked = json_field<bool>(json, "driverAsked"),
              .reset_seen = json_field<bool>(json, "resetSeen"),
              .needed = json_field<unsigned>(json, "readingsNeeded")};
  if (json.contains("slice")) fault.slice = MigUuid(json_field<std::string>(json, "slice"));
  const auto kind = parse_fault_kind(json_field<std::string>(json, "kind"));
  const auto clearance = parse_clearance(json_field<std::string>(json, "clearedBy"));
  // A word of a newer version: keep the fault, and take the strictest reading.
  fault.kind = kind.value_or(FaultKind::kXid);
  fault.clearance = clearance.value_or(Clearance::kReboot);
  return fault;
}

NodeState state_from_json(const Json& json) {
  NodeState state;
  for (const Json& entry : json.at("gpus")) {
    Gpu gpu = gpu_from_json(entry.at("gpu"));
    state.vitals[gpu.uuid] = vitals_from_json(entry.at("vitals"));
    for (const Json& time : entry.at("recoveries")) {
      state.recoveries[gpu.uuid].push_back(json_value<std::int64_t>(time, "a recovery"));
    }
    state.inventory.gpus.push_back(std::move(gpu));
  }
  for (const Json& entry : json.at("faults")) state.faults.push_back(fault_from_json(entry));
  return state;
}

}  // namespace

std::string to_fault_memory(const NodeState& state) {
  Json json{{"version", kVersion}, {"gpus", Json::array()}, {"faults", Json::array()}};
  for (const Gpu& gpu : state.inventory.gpus) {
    if (std::ranges::count(state.faults, gpu.uuid, &Fault::gpu) == 0) continue;
    const auto vitals = state.vitals.find(gpu.uuid);
    const auto recoveries = state.recoveries.find(gpu.uuid);
    json["gpus"].push_back(
        {{"gpu", gpu_to_json(gpu)},
         {"vitals", vitals_to_json(vitals == state.vitals.end() ? Vitals{} : vitals->second)},
         {"recoveries", recoveries == state.recoveries.end() ? std::vector<std::int64_t>{}
                                                             : recoveries->second}});
  }
  for (const Fault& fault : state.faults) json["faults"].push_back(fault_to_json(fault));
  // A driver's text may hold bytes that are no UTF-8; they must not stop us.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<NodeState> parse_fault_memory(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json_field<int>(json, "version") != kVersion) {
      return Error{ErrorCode::kInvalidArgument, "it is of another version"};
    }
    return state_from_json(json);
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kInvalidArgument, problem.what()};
  }
}

}  // namespace tranche
