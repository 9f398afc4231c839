// SPDX-License-Identifier: Apache-2.0
#include "formats/fault_memory_json.h"

#include <algorithm>
#include <exception>

#include <nlohmann/json.hpp>

#include "core/health/xid_table.h"
#include "formats/gpu_json.h"
#include "formats/json_field.h"

namespace tranche::formats {
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
  put(json, "persistenceMode", vitals.persistence);
  put(json, "remapFailed", vitals.remap_failed);
  return json;
}

Vitals vitals_from_json(const Json& json) {
  Vitals vitals;
  take(json, "uncorrectedEcc", vitals.uncorrected_ecc);
  take(json, "energyMillijoules", vitals.energy_mj);
  take(json, "pcieReplays", vitals.pcie_replays);
  take(json, "persistenceMode", vitals.persistence);
  take(json, "remapFailed", vitals.remap_failed);
  return vitals;
}

Json fault_to_json(const Fault& fault) {
  Json json{{"gpu", fault.gpu.text},
            {"kind", to_string(fault.kind)},
            {"xid", fault.xid},
            {"text", fault.text},
            {"clearedBy", to_string(fault.clearance)},
            {"actionTells", fault.action_tells},
            {"bootId", fault.boot_id},
            {"orderUnknown", fault.order_unknown},
            {"driverAsked", fault.driver_asked},
            {"resetAsked", fault.reset_asked.has_value()},
            {"resetSeen", fault.reset_seen},
            {"readingsNeeded", fault.needed}};
  if (fault.slice) json["slice"] = fault.slice->text;
  put(json, "driverBinding", fault.binding);
  if (!fault.links.empty()) json["linksUpBefore"] = fault.links;
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
  // Not in the files of earlier versions.
  take(json, "driverBinding", fault.binding);
  if (json.contains("orderUnknown")) fault.order_unknown = json_field<bool>(json, "orderUnknown");
  if (json.contains("resetAsked") && json_field<bool>(json, "resetAsked")) fault.reset_asked = 0;
  if (json.contains("linksUpBefore")) {
    for (const Json& link : json.at("linksUpBefore")) {
      fault.links.insert(json_value<unsigned>(link, "a link"));
    }
  }
  if (json.contains("slice")) fault.slice = MigUuid(json_field<std::string>(json, "slice"));
  const auto kind = parse_fault_kind(json_field<std::string>(json, "kind"));
  const auto clearance = parse_clearance(json_field<std::string>(json, "clearedBy"));
  // An unknown value from a newer version: keep the fault with the strictest kind.
  fault.kind = kind.value_or(FaultKind::kXid);
  fault.clearance = clearance.value_or(Clearance::kReboot);
  if (json.contains("actionTells")) {
    fault.action_tells = json_field<bool>(json, "actionTells");
  } else if (fault.kind == FaultKind::kXid) {
    // An earlier version accepted the recovery action for more faults than it covers.
    fault.clearance = xid_facts(fault.xid).clearance;
    fault.action_tells = false;
  }
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

}  // namespace tranche::formats
