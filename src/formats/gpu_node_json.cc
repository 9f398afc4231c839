// SPDX-License-Identifier: Apache-2.0
#include "formats/gpu_node_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "formats/gpu_node_words.h"

namespace tranche::formats {
namespace {

using Json = nlohmann::ordered_json;

// etcd takes 1.5 MiB, and the API server adds its own fields.
constexpr std::size_t kMostStatus = 1'000'000;

// The schema's numbers have a sign.
std::int64_t whole(std::uint64_t number) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(number, std::numeric_limits<std::int64_t>::max()));
}

template <typename T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

void put(Json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}

Json reasons_json(const GpuNode& node, const std::string& device, const Health& health) {
  Json reasons = Json::array();
  for (const std::string& trouble : health.troubles) {
    Json reason{{"text", trouble}};
    const auto remedy = std::ranges::find_if(node.remedies, [&](const Remedy& candidate) {
      return candidate.device == device && candidate.trouble == trouble;
    });
    if (remedy != node.remedies.end()) reason["clearedBy"] = remedy->what;
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

Json gpu_json(const GpuNode& node, const Gpu& gpu) {
  Json json{{"slot", gpu.index},
            {"uuid", gpu.uuid.text},
            {"model", gpu.model},
            {"memoryBytes", whole(gpu.memory_bytes)},
            {"migEnabled", gpu.mig_enabled},
            {"lost", gpu.lost},
            {"healthy", gpu.health.ok()},
            {"reasons", reasons_json(node, gpu.uuid.text, gpu.health)}};
  if (gpu.pci) json["pci"] = to_string(*gpu.pci);
  put(json, "numaNode", gpu.numa_node);
  put(json, "driverIndex", gpu.driver_index);
  if (gpu.compute_major > 0) {
    json["computeCapability"] = fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor);
  }
  Json slices = Json::array();
  for (const MigDevice& mig : gpu.mig) {
    slices.push_back({{"uuid", mig.uuid.text},
                      {"index", mig.index},
                      {"profile", to_string(mig.profile)},
                      {"memoryBytes", whole(mig.memory_bytes)},
                      {"healthy", mig.health.ok()},
                      {"reasons", reasons_json(node, mig.uuid.text, mig.health)}});
  }
  json["migDevices"] = std::move(slices);
  return json;
}

// Pairs of which nothing is known are left out.
Json links_json(const GpuNode& node) {
  Json links = Json::array();
  for (std::size_t a = 0; a < node.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < node.gpus.size(); ++b) {
      const std::size_t from = node.topology.position(node.gpus[a].uuid);
      const std::size_t to = node.topology.position(node.gpus[b].uuid);
      if (from == Topology::kNowhere || to == Topology::kNowhere) continue;
      const GpuLink& link = node.topology.between(from, to);
      if (link == GpuLink{}) continue;
      links.push_back({{"a", node.gpus[a].index},
                       {"b", node.gpus[b].index},
                       {"nvlinks", link.nvlinks},
                       {"pcie", text_of(kPcieDistances, link.pcie)}});
    }
  }
  return links;
}

Json device_json(const OfferedDevice& device, const DeviceRoom& room) {
  Json json{{"uuid", device.uuid},          {"gpuSlot", device.gpu_index},
            {"shares", device.shares()},    {"replicated", device.replicas.has_value()},
            {"held", room.held.size()},     {"free", room.free},
            {"healthy", device.health.ok()}};
  put(json, "migIndex", device.mig_index);
  if (device.share_bytes > 0) json["shareBytes"] = whole(device.share_bytes);
  put(json, "reason", device.health.reason());
  return json;
}

Json resource_json(const ReportedResource& resource) {
  const Offer& offer = resource.offer;
  const Terms& terms = offer.terms;
  const FreeShares free = free_counts(resource);
  Json json{{"name", offer.name.text},
            {"share", to_string(terms.form)},
            {"placement", to_string(terms.placement)},
            {"distinctGpus", terms.distinct_gpus},
            {"oneDevice", terms.one_device},
            {"failRequestsGreaterThanOne", terms.one_share_only},
            {"offer", to_string(terms.shown)},
            {"convention", to_string(terms.dialect)},
            {"enforcement", to_string(terms.enforcement)},
            {"shares", offer.shares()},
            {"held", held_shares(resource)},
            {"free", free.all},
            {"largestFreeBlock", free.largest_block}};
  if (terms.demanded) json["demandedEnforcement"] = to_string(*terms.demanded);
  if (terms.unit_bytes > 0) json["unitBytes"] = whole(terms.unit_bytes);
  Json devices = Json::array();
  std::set<std::string> uuids;
  for (std::size_t i = 0; i < offer.devices.size(); ++i) {
    if (!uuids.insert(offer.devices[i].uuid).second) continue;
    devices.push_back(
        device_json(offer.devices[i], i < resource.room.size() ? resource.room[i] : DeviceRoom{}));
  }
  json["devices"] = std::move(devices);
  return json;
}

Json holder_json(const ReportedHolder& held) {
  Json json{{"namespace", held.holder.pod_namespace},
            {"pod", held.holder.pod},
            {"podUid", held.holder.pod_uid},
            {"container", held.holder.container},
            {"resource", held.resource},
            {"device", held.device},
            {"shares", held.shares}};
  put(json, "gpuSlot", held.gpu_number);
  if (held.bytes > 0) json["bytes"] = whole(held.bytes);
  return json;
}

std::uint64_t memory_of(const std::vector<Gpu>& gpus) {
  std::uint64_t bytes = 0;
  for (const Gpu& gpu : gpus) bytes += gpu.memory_bytes;
  return bytes;
}

// For the columns of `kubectl get gpunodes`.
Json summary_json(const GpuNode& node) {
  Json json{{"gpus", node.gpus.size()},
            {"models", models_text(node.gpus)},
            {"memory", fmt::format("{}Gi", memory_of(node.gpus) >> 30U)},
            {"held", held_text(node)},
            {"health", health_text(node)}};
  put(json, "healthyGpus", healthy_gpus(node));
  return json;
}

Json status_json(const GpuNode& node) {
  const AgentReport& agent = node.agent;
  Json json{{"agent", {{"version", agent.version}, {"startedAt", agent.started}}},
            {"bootId", agent.boot_id},
            {"driver",
             {{"kind", to_string(node.driver)},
              {"version", node.driver_version},
              {"cuda", node.cuda_version},
              {"trouble", node.driver_trouble},
              {"released", node.is_released}}},
            {"configuration",
             {{"file", agent.config_file},
              {"name", agent.config_name},
              {"generation", agent.config_generation},
              {"refused", agent.config_refused},
              {"lastRefusal", agent.last_refusal}}},
            {"summary", summary_json(node)},
            {"gpus", Json::array()},
            {"links", links_json(node)},
            {"resources", Json::array()},
            {"holdersKnown", node.holders_known},
            {"holdersProblem", node.holders_problem},
            {"holders", Json::array()},
            {"notes", node.notes}};
  // The list's key. A card that changed its slot may be there twice for a moment.
  std::set<std::string> uuids;
  for (const Gpu& gpu : node.gpus) {
    if (uuids.insert(gpu.uuid.text).second) json["gpus"].push_back(gpu_json(node, gpu));
  }
  for (const ReportedResource& resource : node.resources) {
    json["resources"].push_back(resource_json(resource));
  }
  for (const ReportedHolder& held : node.holders) json["holders"].push_back(holder_json(held));
  return json;
}

}  // namespace

std::string gpu_node_status(const GpuNode& node) {
  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  Json json = status_json(node);
  std::string status = text(json);
  // What is free on each device is left, so that a scheduler needs neither.
  for (const char* part : {"holders", "notes", "links"}) {
    if (status.size() <= kMostStatus) break;
    json[part] = Json::array();
    json["leftOut"].push_back(part);
    status = text(json);
  }
  return status;
}

std::string with_observed_at(const std::string& status, const std::string& time) {
  // The status is an object that begins with a member.
  return fmt::format("{{\"observedAt\":{},{}", Json(time).dump(), status.substr(1));
}

}  // namespace tranche::formats
