// SPDX-License-Identifier: Apache-2.0
//
// The status document cut down to one GPU.
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <set>

#include <nlohmann/json.hpp>

#include "base/table.h"
#include "base/text.h"
#include "programs/device_plugin/gpu_words.h"
#include "programs/device_plugin/node_status.h"
#include "programs/device_plugin/status_cells.h"

namespace tranche::programs {
namespace {

using Json = nlohmann::ordered_json;

// As much as tells GPUs apart.
Inventory identities(const Json& document) {
  Inventory inventory;
  for (const Json& entry : document.at("gpus")) {
    Gpu gpu{.uuid = GpuUuid(entry.at("uuid").get<std::string>()),
            .index = entry.at("index").get<unsigned>()};
    if (entry.at("driverIndex").is_number()) {
      gpu.driver_index = entry.at("driverIndex").get<unsigned>();
    }
    if (entry.at("pci").is_string()) gpu.pci = parse_pci_address(text_of(entry.at("pci")));
    for (const Json& mig : entry.at("mig")) {
      gpu.mig.push_back({.uuid = MigUuid(mig.at("uuid").get<std::string>())});
    }
    inventory.gpus.push_back(std::move(gpu));
  }
  for (const Json& entry : document.at("numbers")) {
    const auto pci = parse_pci_address(text_of(entry.at("pci")));
    if (!pci) continue;
    inventory.numbers[entry.at("number").get<unsigned>()] = {
        *pci, GpuUuid(entry.at("uuid").get<std::string>()), text_of(entry.at("model"))};
  }
  return inventory;
}

// The entries for which `is_of` is true.
template <typename Predicate>
Json only(const Json& entries, Predicate is_of) {
  Json kept = Json::array();
  std::ranges::copy_if(entries, std::back_inserter(kept), is_of);
  return kept;
}

Json cut_down(const Json& document, const Json& gpu) {
  const std::string uuid = text_of(gpu.at("uuid"));
  const auto is_of_gpu = [&](const Json& entry) { return entry.at("gpuUuid") == uuid; };
  const auto is_here = [&](const Json& device) {
    return device == uuid || std::ranges::any_of(gpu.at("mig"), [&](const Json& mig) {
             return mig.at("uuid") == device;
           });
  };
  Json cut{{"node", document.at("node")},
           {"agent", document.at("agent")},
           {"driver", document.at("driver")},
           {"gpu", gpu},
           {"resources", Json::array()},
           {"holders", Json::array()},
           {"holdersProblem", document.at("holdersProblem")},
           {"holderNamesProblem", document.value("holderNamesProblem", "")},
           {"notAllocatable", only(document.at("notAllocatable"), is_of_gpu)}};
  for (const Json& resource : document.at("resources")) {
    const Json devices = only(resource.at("devices"), is_of_gpu);
    if (devices.empty()) continue;
    cut["resources"].push_back(
        {{"name", resource.at("name")}, {"terms", resource.at("terms")}, {"devices", devices}});
  }
  for (Json holder : document.at("holders")) {
    holder["devices"] = only(holder.at("devices"), is_of_gpu);
    if (!holder["devices"].empty()) cut["holders"].push_back(std::move(holder));
  }
  cut["mpsDaemons"] = only(document.at("mpsDaemons"), [&](const Json& daemon) {
    return std::ranges::any_of(daemon.at("devices"), is_here);
  });
  cut["handedOff"] = only(document.at("handedOff"), [&](const Json& grant) {
    return std::ranges::any_of(grant.at("devices"),
                               [&](const Json& device) { return is_here(device.at("uuid")); });
  });
  cut["notOffered"] = only(document.at("notOffered"),
                           [&](const Json& withheld) { return is_here(withheld.at("uuid")); });
  return cut;
}

std::string title(const Json& gpu) {
  std::string text = "GPU " + text_of(gpu.at("index")) + ": " + text_of(gpu.at("model")) + ", " +
                     gib(gpu.at("memoryBytes").get<std::uint64_t>()) + ", " +
                     text_of(gpu.at("uuid")) + ", PCI address " + text_of(gpu.at("pci")) +
                     ", NUMA node " + text_of(gpu.at("numaNode")) + "\n";
  const Json& counted = gpu.at("driverIndex");
  if (counted.is_null()) return text + "The driver does not list it.\n";
  if (counted == gpu.at("index")) return text;
  return text + "The driver, and nvidia-smi with it, counts it as " + text_of(counted) + ".\n";
}

// Of an MPS daemon that serves nobody; the faults of GPUs have their own.
std::string what_clears(const std::string& trouble, const Json& document) {
  if (!trouble.starts_with("MPS: ")) return {};
  if (document.at("mpsDaemons").empty()) {
    return "the MPS daemon answers; it is not one of the agent's: restart it on the node";
  }
  return "the MPS daemon answers. Without clients the agent restarts it by itself; with clients it "
         "waits for them: delete the pods that hold the GPU";
}

// A GPU without a fault of which shares cannot be used all the same; "" where all can.
std::string unusable_lines(const Json& document) {
  std::size_t shares = 0;
  std::size_t usable = 0;
  std::set<std::string> troubles;
  for (const Json& resource : document.at("resources")) {
    for (const Json& device : resource.at("devices")) {
      const auto count = device.at("shares").get<std::size_t>();
      shares += count;
      if (device.at("healthy").get<bool>()) usable += count;
      for (const Json& reason : device.at("reasons")) troubles.insert(text_of(reason));
    }
  }
  if (usable == shares) return {};
  std::string lines = fmt::format("; {} of {} shares usable\n", usable, shares);
  for (const std::string& trouble : troubles) {
    lines += "  " + trouble + "\n";
    const std::string remedy = what_clears(trouble, document);
    if (!remedy.empty()) lines += "    cleared by: " + remedy + "\n";
  }
  return lines;
}

std::string health_lines(const std::string& name, const Json& health) {
  if (health.at("healthy").get<bool>()) return name + ": healthy\n";
  std::string lines = name + ": UNHEALTHY\n";
  for (std::size_t i = 0; i < health.at("reasons").size(); ++i) {
    lines += "  " + text_of(health.at("reasons").at(i)) + "\n";
    const Json& cleared = health.at("clearedBy").at(i);
    if (!cleared.is_null()) lines += "    cleared by: " + text_of(cleared) + "\n";
  }
  return lines;
}

std::string resource_table(const Json& resources) {
  std::vector<std::vector<std::string>> rows{
      {"RESOURCE", "DEVICE", "SHARES", "HELD", "FREE", "ENFORCEMENT", "HEALTH"}};
  for (const Json& resource : resources) {
    for (const Json& device : resource.at("devices")) {
      const bool is_healthy = device.at("healthy").get<bool>();
      rows.push_back(
          {text_of(resource.at("name")), text_of(device.at("index")), text_of(device.at("shares")),
           text_of(device.value("held", Json())), text_of(device.value("free", Json())),
           enforcement_text(resource.at("terms")),
           is_healthy
               ? "healthy"
               : "UNHEALTHY: " + join(device.at("reasons").get<std::vector<std::string>>(), "; ")});
    }
  }
  return rows.size() == 1 ? "It is offered under no resource.\n" : to_table(rows);
}

// What to do about a pod that `-o pods` cannot print.
std::string unnamed_holder(const Json& document, const std::string& uid) {
  if (uid.empty()) {
    return "a pod that is being made holds a GPU, too, and its name is not known yet; run this "
           "again in a few seconds";
  }
  const std::string why = document.value("holderNamesProblem", "");
  return "the pod with uid " + uid + " holds a GPU, too, and its name is not known" +
         (why.empty() ? "" : " (" + why + ")") + "; to find it: " + find_by_uid(uid);
}

Error not_understood(const std::exception& problem) {
  return {ErrorCode::kInternal,
          "the agent's answer is not understood (is it of another version?): " +
              std::string(problem.what())};
}

}  // namespace

Result<std::string> gpu_json(std::string_view text, const std::string& word) {
  try {
    const Json document = Json::parse(text);
    const Result<GpuUuid> meant = gpu_named(word, identities(document));
    if (!meant) return meant.error().in("node " + text_of(document.at("node")));
    const auto gpu = std::ranges::find_if(document.at("gpus"), [&](const Json& candidate) {
      return candidate.at("uuid") == meant->text;
    });
    return cut_down(document, *gpu).dump(2) + "\n";
  } catch (const std::exception& problem) {
    return not_understood(problem);
  }
}

Result<std::string> gpu_text(std::string_view text) {
  try {
    const Json document = Json::parse(text);
    const Json& gpu = document.at("gpu");
    std::string health = health_lines("Health", gpu.at("health"));
    const std::string unusable = unusable_lines(document);
    const bool is_healthy = gpu.at("health").at("healthy").get<bool>();
    if (is_healthy && !unusable.empty()) health = "Health: healthy" + unusable;
    std::string lines = head_lines(document) + "\n" + title(gpu) + health;
    for (const Json& mig : gpu.at("mig")) {
      lines +=
          health_lines("MIG device " + text_of(gpu.at("index")) + ":" + text_of(mig.at("index")) +
                           ", " + text_of(mig.at("profile")) + ", " + text_of(mig.at("uuid")),
                       mig.at("health"));
    }
    lines += "\n" + resource_table(document.at("resources"));
    const std::string holders = holders_table(document);
    lines += holders.empty() ? "\nNo pod holds it.\n" : holders;
    lines += withheld_lines(document) + mps_table(document.at("mpsDaemons"));
    for (const Json& withheld : document.at("notOffered")) {
      lines += "\nNot offered: " + text_of(withheld.at("uuid")) + ": " +
               text_of(withheld.at("reason")) + "\n";
    }
    return lines;
  } catch (const std::exception& problem) {
    return not_understood(problem);
  }
}

Result<HolderPods> holder_pods(std::string_view text) {
  try {
    const Json document = Json::parse(text);
    if (const std::string problem = text_of(document.at("holdersProblem")); !problem.empty()) {
      return Error{ErrorCode::kUnavailable, "which pods hold what is not known: " + problem};
    }
    std::set<std::string> named;
    std::set<std::string> unnamed;
    for (const Json& holder : document.at("holders")) {
      const std::string pod = text_of(holder.at("pod"));
      if (pod.empty()) {
        unnamed.insert(unnamed_holder(document, text_of(holder.at("podUid"))));
      } else {
        named.insert(text_of(holder.at("namespace")) + " " + pod + "\n");
      }
    }
    HolderPods pods{.unnamed = {unnamed.begin(), unnamed.end()}};
    for (const std::string& line : named) pods.lines += line;
    return pods;
  } catch (const std::exception& problem) {
    return not_understood(problem);
  }
}

}  // namespace tranche::programs
