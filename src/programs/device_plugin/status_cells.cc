// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/status_cells.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>

#include <nlohmann/json.hpp>

#include "base/table.h"
#include "base/text.h"

namespace tranche::programs {
namespace {

using Json = nlohmann::ordered_json;

std::string driver_line(const Json& driver) {
  const std::string kind = text_of(driver.at("kind"));
  if (const Json& released = driver.at("releasedAt"); !released.is_null()) {
    if (const std::string why = text_of(driver.at("notClosedBecause")); !why.empty()) {
      return "Driver: released, but NOT closed: " + why + "; do not reset yet\n";
    }
    return "Driver: closed by 'release' since " + utc(released.get<std::time_t>()) +
           "; 'resume' reopens it, restarting the agent does not\n";
  }
  if (kind == "none") return "Driver: not reached: " + text_of(driver.at("trouble")) + "\n";
  if (kind == "device-nodes") {
    return "Driver: no management library; GPUs are those with a device node\n";
  }
  return "Driver: " + text_of(driver.at("version")) + ", CUDA " + text_of(driver.at("cuda")) + "\n";
}

std::string agent_line(const Json& agent) {
  if (const std::string problem = text_of(agent.at("problem")); !problem.empty()) {
    return "Agent:  not asked: " + problem + "\n        below is what an agent would see\n";
  }
  if (!agent.at("running").get<bool>()) {
    return "Agent:  not running here; this is what it would see\n";
  }
  std::string line =
      "Agent:  " + text_of(agent.at("version")) + ", running since " + text_of(agent.at("started"));
  const std::string file = text_of(agent.at("configFile"));
  if (!file.empty()) line += ", configured by " + file;
  line += "\n";
  // An agent of before has no such field.
  if (agent.contains("configuration") && agent.at("configuration").is_object()) {
    const Json& chosen = agent.at("configuration");
    const std::string name = text_of(chosen.at("name"));
    line += "        configuration " + (name.empty() ? "(none)" : name) + ", chosen by " +
            text_of(chosen.at("reason")) + "\n";
  }
  if (const std::string refusal = text_of(agent.at("lastRefusal")); !refusal.empty()) {
    line += "        the last change of the configuration was refused: " + refusal + "\n";
  }
  return line;
}

std::string pod_text(const Json& holder) {
  std::string pod = text_of(holder.at("pod"));
  if (pod.empty()) {
    const std::string uid = text_of(holder.at("podUid"));
    pod = uid.empty() ? "(being made)" : "uid " + uid;
  }
  const std::string space = text_of(holder.at("namespace"));
  return space.empty() ? pod : space + "/" + pod;
}

// Why rows have uids and no names, and how to find the names.
std::string uid_note(const Json& document) {
  std::vector<std::string> uids;
  for (const Json& holder : document.at("holders")) {
    const std::string uid = text_of(holder.at("podUid"));
    const bool is_unnamed = text_of(holder.at("pod")).empty() && !uid.empty();
    if (is_unnamed && std::ranges::find(uids, uid) == uids.end()) uids.push_back(uid);
  }
  if (uids.empty()) return {};
  const std::string pattern = uids.size() == 1 ? uids.front() : "-E '" + join(uids, "|") + "'";
  const std::string why = document.value("holderNamesProblem", "");
  return "Some pods are known by their uid alone" + (why.empty() ? "" : ": " + why) +
         "\n  to find them: " + find_by_uid(pattern) + "\n";
}

std::string amount(const Json& device) {
  std::string text = text_of(device.at("shares"));
  const Json& bytes = device.at("memoryBytes");
  return bytes.is_null() ? text : text + " (" + gib(bytes.get<std::uint64_t>()) + ")";
}

}  // namespace

std::string utc(std::time_t when) {
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string gib(std::uint64_t bytes) {
  if (bytes == 0) return "?";
  const std::uint64_t tenths = (bytes * 10 + (1ULL << 29)) >> 30;
  return fmt::format("{}.{} GiB", tenths / 10, tenths % 10);
}

std::string text_of(const Json& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string head_lines(const Json& document) {
  return "Node:   " + text_of(document.at("node")) + "\n" + driver_line(document.at("driver")) +
         agent_line(document.at("agent"));
}

std::string find_by_uid(const std::string& uid) {
  return "kubectl get pods -A -o custom-columns=NAMESPACE:.metadata.namespace,"
         "NAME:.metadata.name,UID:.metadata.uid | grep " +
         uid;
}

std::string holders_table(const Json& document) {
  if (const std::string problem = text_of(document.at("holdersProblem")); !problem.empty()) {
    return "\nWhich pods hold what is not known: " + problem + "\n";
  }
  std::vector<std::vector<std::string>> rows{
      {"HELD BY", "CONTAINER", "RESOURCE", "AMOUNT", "GPU", "UUID", "PCI"}};
  for (const Json& holder : document.at("holders")) {
    for (const Json& device : holder.at("devices")) {
      rows.push_back({pod_text(holder), text_of(holder.at("container")),
                      text_of(holder.at("resource")), amount(device), text_of(device.at("index")),
                      text_of(device.at("device")), text_of(device.at("pci"))});
    }
  }
  return rows.size() == 1 ? std::string() : "\n" + to_table(rows) + uid_note(document);
}

std::string withheld_lines(const Json& document) {
  std::string lines;
  for (const Json& withheld : document.at("notAllocatable")) {
    lines += "\n" + text_of(withheld.at("reason"));
  }
  return lines.empty() ? lines : lines + "\n";
}

std::string mps_table(const Json& daemons) {
  if (daemons.empty()) return {};
  std::vector<std::vector<std::string>> rows{
      {"MPS DAEMON", "GPU", "STATE", "CLIENTS", "LIMITS HOLD FOR", "RESTARTS", "LAST PROBLEM"}};
  for (const Json& daemon : daemons) {
    std::string problem = text_of(daemon.at("lastProblem"));
    if (!problem.empty()) problem = text_of(daemon.at("lastProblemTime")) + ": " + problem;
    rows.push_back({text_of(daemon.at("name")),
                    join(daemon.at("indexes").get<std::vector<std::string>>(), ", "),
                    text_of(daemon.at("state")), text_of(daemon.at("clients")),
                    text_of(daemon.at("limitsHoldFor")), text_of(daemon.at("restarts")), problem});
  }
  std::string text = "\n" + to_table(rows);
  for (const Json& daemon : daemons) {
    const std::string last = text_of(daemon.at("lastForeignCommand"));
    if (last.empty()) continue;
    text += "MPS daemon " + text_of(daemon.at("name")) + " got " +
            text_of(daemon.at("foreignCommands")) +
            " commands that were not the agent's, the last: " + last + "\n";
  }
  return text;
}

std::string enforcement_text(const Json& terms) {
  const Json& demanded = terms.at("enforcementDemanded");
  if (demanded.is_null() && text_of(terms.at("share")) == "whole") return "-";
  if (demanded.is_null() || demanded == terms.at("enforcement")) {
    return text_of(terms.at("enforcement"));
  }
  return text_of(demanded) + " (not possible)";
}

}  // namespace tranche::programs
