// SPDX-License-Identifier: Apache-2.0
//
// The status document as tables for people.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/table.h"
#include "base/text.h"
#include "programs/device_plugin/node_status.h"
#include "programs/device_plugin/status_cells.h"

namespace tranche::programs {
namespace {

using Json = nlohmann::ordered_json;

// A driver trouble concerns every GPU: shown once, in the head and below the table.
bool is_of_driver(const Json& reason) { return text_of(reason).starts_with("driver: "); }

std::string health_text(const Json& health) {
  if (health.at("healthy").get<bool>()) return "healthy";
  std::vector<std::string> reasons;
  for (const Json& reason : health.at("reasons")) {
    reasons.push_back(is_of_driver(reason) ? "the driver cannot be read" : text_of(reason));
  }
  return "UNHEALTHY: " + join(reasons, "; ");
}

// What clears each fault, below the table: the cells would get too wide.
void add_remedies(const std::string& index, const Json& health, std::string& lines) {
  for (std::size_t i = 0; i < health.at("reasons").size(); ++i) {
    const Json& cleared = health.at("clearedBy").at(i);
    if (cleared.is_null() || is_of_driver(health.at("reasons").at(i))) continue;
    lines += "GPU " + index + ": " + text_of(health.at("reasons").at(i)) +
             "\n  cleared by: " + text_of(cleared) + "\n";
  }
}

// Where the driver counts GPUs otherwise than their numbers say.
std::string driver_index_note(const Json& gpus) {
  std::vector<std::string> differences;
  for (const Json& gpu : gpus) {
    const Json& counted = gpu.at("driverIndex");
    if (counted.is_null() || counted == gpu.at("index")) continue;
    differences.push_back("GPU " + text_of(gpu.at("index")) + " as " + text_of(counted));
  }
  if (differences.empty()) return {};
  return "The driver, and nvidia-smi with it, now counts " + join(differences, ", ") + ".\n";
}

std::string gpu_table(const Json& gpus) {
  std::vector<std::vector<std::string>> rows{
      {"INDEX", "UUID", "MODEL", "MEMORY", "PCI", "NUMA", "HEALTH"}};
  std::string remedies;
  for (const Json& gpu : gpus) {
    const std::string index = text_of(gpu.at("index"));
    add_remedies(index, gpu.at("health"), remedies);
    std::string model = text_of(gpu.at("model"));
    if (gpu.at("migEnabled").get<bool>()) model += " (MIG)";
    rows.push_back({index, text_of(gpu.at("uuid")), model,
                    gib(gpu.at("memoryBytes").get<std::uint64_t>()), text_of(gpu.at("pci")),
                    text_of(gpu.at("numaNode")), health_text(gpu.at("health"))});
    for (const Json& mig : gpu.at("mig")) {
      add_remedies(index + ":" + text_of(mig.at("index")), mig.at("health"), remedies);
      rows.push_back({index + ":" + text_of(mig.at("index")), text_of(mig.at("uuid")),
                      "  MIG " + text_of(mig.at("profile")),
                      gib(mig.at("memoryBytes").get<std::uint64_t>()), "", "",
                      health_text(mig.at("health"))});
    }
  }
  if (rows.size() == 1) return "No GPU was found.\n";
  const bool is_unreadable = std::ranges::any_of(gpus, [](const Json& gpu) {
    return std::ranges::any_of(gpu.at("health").at("reasons"), is_of_driver);
  });
  if (is_unreadable) {
    remedies =
        "all GPUs: the driver cannot be read; on the node: `nvidia-smi`, `dmesg | grep NVRM`\n" +
        remedies;
  }
  return to_table(rows) + driver_index_note(gpus) + remedies;
}

std::string resource_table(const Json& resources) {
  std::vector<std::vector<std::string>> rows{
      {"RESOURCE", "DEVICES", "SHARES", "HEALTHY", "ALLOCATABLE", "KUBELET"}};
  for (const Json& resource : resources) {
    std::string kubelet = "-";
    if (resource.contains("kubelet")) {
      kubelet = text_of(resource.at("kubelet").at("state"));
      const std::string error = text_of(resource.at("kubelet").at("lastError"));
      if (!error.empty()) kubelet += " (" + error + ")";
    }
    rows.push_back({text_of(resource.at("name")), std::to_string(resource.at("devices").size()),
                    text_of(resource.at("shares")), text_of(resource.at("healthyShares")),
                    text_of(resource.at("allocatable")), kubelet});
  }
  return rows.size() == 1 ? "No resource is offered.\n" : to_table(rows);
}

// On which terms, where any resource has others than NVIDIA's plainest, or where something
// is held: what is held under one name may be missing from another.
std::string sharing_table(const Json& resources) {
  std::vector<std::vector<std::string>> rows{
      {"RESOURCE", "SHARE", "OFFERED", "PLACEMENT", "DIALECT", "ENFORCEMENT", "HELD", "FREE"}};
  bool is_plain = true;
  for (const Json& resource : resources) {
    const Json& terms = resource.at("terms");
    std::string share = text_of(terms.at("share"));
    if (share != "whole" || text_of(terms.at("dialect")) != "nvidia") is_plain = false;
    if (resource.at("held").is_number() && resource.at("held") != 0) is_plain = false;
    if (share == "memory") share += ", " + text_of(terms.at("unit"));
    rows.push_back({text_of(resource.at("name")), share, text_of(terms.at("offer")),
                    text_of(terms.at("placement")), text_of(terms.at("dialect")),
                    enforcement_text(terms), text_of(resource.at("held")),
                    text_of(resource.at("free"))});
  }
  return is_plain ? std::string() : "\n" + to_table(rows);
}

std::string device_text(const Json& device) {
  std::string text = text_of(device.at("uuid"));
  if (const std::string share = text_of(device.at("share")); share != "whole") {
    text += " (" + text_of(device.at("shares")) + "/" + text_of(device.at("sharesInAll")) +
            (share == "memory" ? " of its memory)" : " replicas)");
  }
  return device.at("healthy").get<bool>() ? text : text + " UNHEALTHY";
}

// What is granted to or by another agent, a row for each device.
void add_grants(const Json& grants, std::vector<std::vector<std::string>>& rows) {
  for (const Json& grant : grants) {
    for (const Json& device : grant.at("devices")) {
      rows.push_back({text_of(grant.at("id")), text_of(grant.at("resource")), device_text(device),
                      text_of(grant.at("generation"))});
    }
  }
}

std::string handed_off_table(const Json& grants) {
  if (grants.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"HANDED OFF", "RESOURCE", "DEVICE", "GENERATION"}};
  add_grants(grants, rows);
  return "\n" + to_table(rows);
}

std::string host_grant_table(const Json& guest) {
  if (guest.is_null()) return {};
  if (guest.at("source").is_null()) {
    return "\nThe host's grant is not known: " + text_of(guest.at("problem")) + "\n";
  }
  std::string text = "\nGranted by the host, as " + text_of(guest.at("source")) + " has it";
  if (!guest.at("gpuEnv").is_null()) {
    const Json& env = guest.at("gpuEnv");
    const auto names = env.at("names").get<std::vector<std::string>>();
    text += env.at("all").get<bool>() ? ": all"
            : names.empty()           ? ": none"
                                      : ": " + join(names, ", ");
    return text + "\n";
  }
  std::vector<std::vector<std::string>> rows{{"GRANT", "RESOURCE", "DEVICE", "GENERATION"}};
  add_grants(guest.at("grants"), rows);
  return text + "\n" + to_table(rows);
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

Error not_understood(const std::exception& problem) {
  return {ErrorCode::kInternal,
          "the agent's answer is not understood (is it of another version?): " +
              std::string(problem.what())};
}

}  // namespace

Result<std::string> status_tables(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    std::string tables =
        head_lines(json) + "\n" + gpu_table(json.at("gpus")) + "\n" +
        resource_table(json.at("resources")) + sharing_table(json.at("resources")) +
        holders_table(json) + withheld_lines(json) + mps_table(json.at("mpsDaemons")) +
        host_grant_table(json.at("hostGrant")) + handed_off_table(json.at("handedOff")) +
        withheld_table(json.at("notOffered"));
    for (const Json& note : json.at("notes")) tables += "\nNote: " + text_of(note) + "\n";
    if (const std::string problem = text_of(json.at("cdiProblem")); !problem.empty()) {
      tables += "\nCDI: " + problem + "\n";
    }
    if (const std::string version = json.value("cdiToolkit", ""); !version.empty()) {
      tables +=
          "\nNVIDIA's container toolkit, whose hooks CDI specifications have: " + version + "\n";
    }
    return tables;
  } catch (const std::exception& problem) {
    return not_understood(problem);
  }
}

Result<std::string> numbers_table(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    std::vector<std::vector<std::string>> rows{
        {"NUMBER", "PCI", "UUID LAST SEEN", "MODEL", "PRESENT", "DRIVER INDEX"}};
    for (const Json& entry : json.at("numbers")) {
      rows.push_back({text_of(entry.at("number")), text_of(entry.at("pci")),
                      text_of(entry.at("uuid")), text_of(entry.at("model")),
                      entry.at("present").get<bool>() ? "yes" : "no",
                      text_of(entry.at("driverIndex"))});
    }
    return "Node: " + text_of(json.at("node")) + "\n" +
           (rows.size() == 1 ? "No GPU number is bound.\n" : to_table(rows));
  } catch (const std::exception& problem) {
    return not_understood(problem);
  }
}

Result<std::string> numbers_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    return Json{{"node", json.at("node")}, {"numbers", json.at("numbers")}}.dump(2) + "\n";
  } catch (const std::exception& problem) {
    return not_understood(problem);
  }
}

}  // namespace tranche::programs
