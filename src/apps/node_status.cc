// SPDX-License-Identifier: Apache-2.0
#include "apps/node_status.h"

#include <algorithm>
#include <exception>

#include <nlohmann/json.hpp>

#include "apps/table.h"
#include "apps/version.h"
#include "base/text.h"

namespace tranche {
namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_text(DriverKind kind) {
  switch (kind) {
    case DriverKind::kNone: return "none";
    case DriverKind::kNvml: return "nvml";
    case DriverKind::kDeviceNodes: return "device-nodes";
  }
  return "?";
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json health_json(const Health& health) {
  return {{"healthy", health.ok()}, {"reasons", health.troubles}};
}

Json mig_json(const MigDevice& mig) {
  return {{"uuid", mig.uuid.text},
          {"index", mig.index},
          {"profile", to_string(mig.profile)},
          {"gpuInstance", mig.gpu_instance},
          {"computeInstance", mig.compute_instance},
          {"memoryBytes", mig.memory_bytes},
          {"health", health_json(mig.health)}};
}

Json gpu_json(const Gpu& gpu) {
  Json json{{"uuid", gpu.uuid.text},
            {"index", gpu.index},
            {"minor", or_null(gpu.minor)},
            {"pci", gpu.pci ? Json(to_string(*gpu.pci)) : Json()},
            {"model", gpu.model},
            {"memoryBytes", gpu.memory_bytes},
            {"computeCapability",
             std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor)},
            {"numaNode", or_null(gpu.numa_node)},
            {"migEnabled", gpu.mig_enabled},
            {"health", health_json(gpu.health)},
            {"mig", Json::array()}};
  for (const MigDevice& mig : gpu.mig) json["mig"].push_back(mig_json(mig));
  return json;
}

Json offer_json(const Offer& offer, const std::vector<ResourceStatus>& resources) {
  std::size_t healthy = 0;
  Json devices = Json::array();
  for (const OfferedDevice& device : offer.devices) {
    if (device.health.ok()) healthy += device.shares();
    devices.push_back({{"uuid", device.uuid},
                       {"index", device.index()},
                       {"shares", device.shares()},
                       {"healthy", device.health.ok()}});
  }
  Json json{{"name", offer.name.text},
            {"shares", offer.shares()},
            {"healthyShares", healthy},
            {"devices", std::move(devices)}};
  const auto at_kubelet = std::ranges::find(resources, offer.name.text, &ResourceStatus::resource);
  if (at_kubelet == resources.end()) return json;
  json["kubelet"] = {{"registered", at_kubelet->phase == RegistrationPhase::kUp},
                     {"state", to_string(at_kubelet->phase)},
                     {"registrations", at_kubelet->registrations},
                     {"lastError", at_kubelet->last_error},
                     {"socket", at_kubelet->socket},
                     {"allocationsGranted", at_kubelet->calls.granted},
                     {"allocationsRefused", at_kubelet->calls.refused},
                     {"listsSent", at_kubelet->calls.lists_sent}};
  return json;
}

std::string gib(std::uint64_t bytes) {
  if (bytes == 0) return "?";
  const std::uint64_t tenths = (bytes * 10 + (1ULL << 29)) >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

std::string text_of(const Json& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string health_text(const Json& health) {
  if (health.at("healthy").get<bool>()) return "healthy";
  return "UNHEALTHY: " + join(health.at("reasons").get<std::vector<std::string>>(), "; ");
}

std::string driver_line(const Json& driver) {
  const std::string kind = text_of(driver.at("kind"));
  const std::string trouble = text_of(driver.at("trouble"));
  if (kind == "none") return "Driver: not reached: " + trouble + "\n";
  if (kind == "device-nodes") {
    return "Driver: no management library; GPUs are those with a device node\n";
  }
  return "Driver: " + text_of(driver.at("version")) + ", CUDA " + text_of(driver.at("cuda")) + "\n";
}

std::string agent_line(const Json& agent) {
  if (!agent.at("running").get<bool>()) {
    return "Agent:  not running here; this is what it would see\n";
  }
  std::string line =
      "Agent:  " + text_of(agent.at("version")) + ", running since " + text_of(agent.at("started"));
  const std::string file = text_of(agent.at("configFile"));
  if (!file.empty()) line += ", configured by " + file;
  line += "\n";
  if (const std::string refusal = text_of(agent.at("lastRefusal")); !refusal.empty()) {
    line += "        the last change of the configuration was refused: " + refusal + "\n";
  }
  return line;
}

std::string gpu_table(const Json& gpus) {
  std::vector<std::vector<std::string>> rows{
      {"INDEX", "UUID", "MODEL", "MEMORY", "PCI", "NUMA", "HEALTH"}};
  for (const Json& gpu : gpus) {
    const std::string index = text_of(gpu.at("index"));
    std::string model = text_of(gpu.at("model"));
    if (gpu.at("migEnabled").get<bool>()) model += " (MIG)";
    rows.push_back({index, text_of(gpu.at("uuid")), model,
                    gib(gpu.at("memoryBytes").get<std::uint64_t>()), text_of(gpu.at("pci")),
                    text_of(gpu.at("numaNode")), health_text(gpu.at("health"))});
    for (const Json& mig : gpu.at("mig")) {
      rows.push_back({index + ":" + text_of(mig.at("index")), text_of(mig.at("uuid")),
                      "  MIG " + text_of(mig.at("profile")),
                      gib(mig.at("memoryBytes").get<std::uint64_t>()), "", "",
                      health_text(mig.at("health"))});
    }
  }
  return rows.size() == 1 ? "No GPU was found.\n" : to_table(rows);
}

std::string resource_table(const Json& resources) {
  std::vector<std::vector<std::string>> rows{
      {"RESOURCE", "DEVICES", "SHARES", "HEALTHY", "KUBELET"}};
  for (const Json& resource : resources) {
    std::string kubelet = "-";
    if (resource.contains("kubelet")) {
      kubelet = text_of(resource.at("kubelet").at("state"));
      const std::string error = text_of(resource.at("kubelet").at("lastError"));
      if (!error.empty()) kubelet += " (" + error + ")";
    }
    rows.push_back({text_of(resource.at("name")), std::to_string(resource.at("devices").size()),
                    text_of(resource.at("shares")), text_of(resource.at("healthyShares")),
                    kubelet});
  }
  return rows.size() == 1 ? "No resource is offered.\n" : to_table(rows);
}

std::string withheld_table(const Json& withheld) {
  if (withheld.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"NOT OFFERED", "UUID", "REASON"}};
  for (const Json& device : withheld) {
    rows.push_back(
        {text_of(device.at("index")), text_of(device.at("uuid")), text_of(device.at("reason"))});
  }
  return "\n" + to_table(rows);
}

}  // namespace

std::string to_json(const NodeStatus& status) {
  Json json{{"agent",
             {{"running", status.agent.running},
              {"version", kVersion},
              {"started", status.agent.started},
              {"configFile", status.agent.config_file},
              {"reloadsTaken", status.agent.reloads_taken},
              {"reloadsRefused", status.agent.reloads_refused},
              {"lastRefusal", status.agent.last_refusal}}},
            {"driver",
             {{"kind", kind_text(status.inventory.driver)},
              {"version", status.inventory.driver_version},
              {"cuda", status.inventory.cuda_version},
              {"trouble", status.inventory.driver_trouble}}},
            {"gpus", Json::array()},
            {"resources", Json::array()},
            {"notOffered", Json::array()},
            {"notes", status.catalog.notes},
            {"cdiProblem", status.cdi_problem}};
  for (const Gpu& gpu : status.inventory.gpus) json["gpus"].push_back(gpu_json(gpu));
  for (const Offer& offer : status.catalog.offers) {
    json["resources"].push_back(offer_json(offer, status.resources));
  }
  for (const Withheld& device : status.catalog.withheld) {
    json["notOffered"].push_back(
        {{"uuid", device.uuid}, {"index", device.index}, {"reason", device.reason}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> status_tables(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    std::string tables = driver_line(json.at("driver")) + agent_line(json.at("agent")) + "\n" +
                         gpu_table(json.at("gpus")) + "\n" + resource_table(json.at("resources")) +
                         withheld_table(json.at("notOffered"));
    for (const Json& note : json.at("notes")) tables += "\nNote: " + text_of(note) + "\n";
    if (const std::string problem = text_of(json.at("cdiProblem")); !problem.empty()) {
      tables += "\nCDI: " + problem + "\n";
    }
    return tables;
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kInternal,
                 "the agent's answer is not understood (is it of another version?): " +
                     std::string(problem.what())};
  }
}

}  // namespace tranche
