// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/words.h"
#include "formats/gpu_node_json.h"
#include "formats/gpu_node_words.h"
#include "formats/json_field.h"

namespace tranche::formats {
namespace {

using Json = nlohmann::ordered_json;

// A device has fewer shares than the kubelet can list; more would only take memory here.
constexpr unsigned kMostShares = 1U << 20U;

// The member, or the default where it is missing.
template <typename T>
T value_or(const Json& json, const char* key, const T& fallback) {
  return json.contains(key) ? json_field<T>(json, key) : fallback;
}

std::string text_or_empty(const Json& json, const char* key) {
  return value_or<std::string>(json, key, "");
}

template <typename T>
std::optional<T> optional_at(const Json& json, const char* key) {
  return json.contains(key) ? std::optional(json_field<T>(json, key)) : std::nullopt;
}

Json list_at(const Json& json, const char* key) {
  Json list = json.value(key, Json::array());
  if (!list.is_array()) throw std::runtime_error(std::string(key) + " is not a list");
  return list;
}

void require_object(const Json& json, const char* name) {
  if (!json.is_object()) throw std::runtime_error(std::string(name) + " is not an object");
}

Json object_at(const Json& json, const char* key) {
  Json object = json.value(key, Json::object());
  require_object(object, key);
  return object;
}

Health take_health(const Json& json, const std::string& device, std::vector<Remedy>& remedies) {
  Health health;
  for (const Json& reason : list_at(json, "reasons")) {
    const std::string text = json_field<std::string>(reason, "text");
    health.troubles.push_back(text);
    if (const std::string remedy = text_or_empty(reason, "clearedBy"); !remedy.empty()) {
      remedies.push_back({device, text, remedy});
    }
  }
  // An agent that says no more than this.
  if (health.troubles.empty() && !value_or(json, "healthy", false)) {
    health.troubles.emplace_back("not healthy");
  }
  return health;
}

void take_capability(const std::string& text, Gpu& gpu) {
  const std::vector<std::string> parts = split(text, '.');
  if (parts.size() != 2) return;
  gpu.compute_major = parse_number<unsigned>(parts[0]).value_or(0);
  gpu.compute_minor = parse_number<unsigned>(parts[1]).value_or(0);
}

Gpu take_gpu(const Json& json, std::vector<Remedy>& remedies) {
  Gpu gpu{.uuid = GpuUuid(json_field<std::string>(json, "uuid")),
          .index = json_field<unsigned>(json, "slot"),
          .driver_index = optional_at<unsigned>(json, "driverIndex"),
          .pci = parse_pci_address(text_or_empty(json, "pci")),
          .model = text_or_empty(json, "model"),
          .memory_bytes = value_or<std::uint64_t>(json, "memoryBytes", 0),
          .numa_node = optional_at<unsigned>(json, "numaNode"),
          .mig_enabled = value_or(json, "migEnabled", false),
          .lost = value_or(json, "lost", false)};
  take_capability(text_or_empty(json, "computeCapability"), gpu);
  gpu.health = take_health(json, gpu.uuid.text, remedies);
  for (const Json& slice : list_at(json, "migDevices")) {
    MigDevice mig{
        .uuid = MigUuid(json_field<std::string>(slice, "uuid")),
        .index = json_field<unsigned>(slice, "index"),
        .profile = parse_mig_profile(text_or_empty(slice, "profile")).value_or(MigProfile{}),
        .memory_bytes = value_or<std::uint64_t>(slice, "memoryBytes", 0)};
    mig.health = take_health(slice, mig.uuid.text, remedies);
    gpu.mig.push_back(std::move(mig));
  }
  return gpu;
}

Topology take_links(const Json& json, const std::vector<Gpu>& gpus) {
  std::vector<GpuUuid> uuids;
  for (const Gpu& gpu : gpus) uuids.push_back(gpu.uuid);
  Topology topology(std::move(uuids));
  for (const Json& link : list_at(json, "links")) {
    const auto a = std::ranges::find(gpus, json_field<unsigned>(link, "a"), &Gpu::index);
    const auto b = std::ranges::find(gpus, json_field<unsigned>(link, "b"), &Gpu::index);
    if (a == gpus.end() || b == gpus.end() || a == b) continue;
    topology.set(
        static_cast<std::size_t>(a - gpus.begin()), static_cast<std::size_t>(b - gpus.begin()),
        {meaning_of(kPcieDistances, text_or_empty(link, "pcie")).value_or(PcieDistance::kUnknown),
         value_or(link, "nvlinks", 0U)});
  }
  return topology;
}

// Empty: a word of it is not known here, so that nothing can be predicted.
std::optional<Terms> take_terms(const Json& json) {
  const auto form = meaning_of(kShareForms, text_or_empty(json, "share"));
  const auto placement = meaning_of(kPlacements, text_or_empty(json, "placement"));
  const auto shown = meaning_of(kShownSizes, value_or<std::string>(json, "offer", "sum"));
  if (!form || !placement || !shown) return std::nullopt;
  return Terms{
      .form = *form,
      .placement = *placement,
      .distinct_gpus = value_or(json, "distinctGpus", false),
      .one_device = value_or(json, "oneDevice", false),
      .one_share_only = value_or(json, "failRequestsGreaterThanOne", false),
      .shown = *shown,
      .unit_bytes = value_or<std::uint64_t>(json, "unitBytes", 0),
      // What a container gets and what limits it has no part in the choice of its devices.
      .dialect =
          meaning_of(kDialects, text_or_empty(json, "convention")).value_or(Dialect::kNvidia),
      .demanded =
          meaning_of(kDemands, text_or_empty(json, "demandedEnforcement")).value_or(std::nullopt),
      .enforcement = meaning_of(kDemands, text_or_empty(json, "enforcement"))
                         .value_or(std::nullopt)
                         .value_or(Enforcement::kNone)};
}

unsigned count_at(const Json& json, const char* key) {
  const unsigned count = value_or(json, key, 0U);
  if (count > kMostShares) throw std::runtime_error(fmt::format("{} is {}", key, count));
  return count;
}

void take_device(const Json& json, const std::vector<Gpu>& gpus, ReportedResource& resource) {
  OfferedDevice device{.uuid = json_field<std::string>(json, "uuid"),
                       .gpu_index = json_field<unsigned>(json, "gpuSlot"),
                       .mig_index = optional_at<unsigned>(json, "migIndex"),
                       .share_bytes = value_or<std::uint64_t>(json, "shareBytes", 0)};
  const unsigned shares = count_at(json, "shares");
  if (value_or(json, "replicated", false)) device.replicas = shares;
  if (!value_or(json, "healthy", false)) {
    const std::string reason = text_or_empty(json, "reason");
    device.health.troubles.push_back(reason.empty() ? "not healthy" : reason);
  }
  const auto gpu = std::ranges::find(gpus, device.gpu_index, &Gpu::index);
  if (gpu != gpus.end()) {
    device.gpu = gpu->uuid;
    device.model = gpu->model;
    device.numa_node = gpu->numa_node;
    device.memory_bytes = gpu->memory_bytes;
    const auto mig = std::ranges::find(gpu->mig, MigUuid(device.uuid), &MigDevice::uuid);
    if (mig != gpu->mig.end()) device.memory_bytes = mig->memory_bytes;
  }
  DeviceRoom room{.held = std::vector<unsigned>(std::min(count_at(json, "held"), shares)),
                  .free = std::min(count_at(json, "free"), shares)};
  std::iota(room.held.begin(), room.held.end(), 0U);
  resource.offer.devices.push_back(std::move(device));
  resource.room.push_back(std::move(room));
}

ReportedHolder take_holder(const Json& json) {
  return {.holder = {.pod_namespace = text_or_empty(json, "namespace"),
                     .pod = text_or_empty(json, "pod"),
                     .pod_uid = text_or_empty(json, "podUid"),
                     .container = text_or_empty(json, "container")},
          .resource = text_or_empty(json, "resource"),
          .device = text_or_empty(json, "device"),
          .gpu_number = optional_at<unsigned>(json, "gpuSlot"),
          .shares = value_or<std::uint64_t>(json, "shares", 0),
          .bytes = value_or<std::uint64_t>(json, "bytes", 0)};
}

GpuNodeReading take_status(const Json& json) {
  require_object(json, "the status");
  GpuNodeReading reading{.observed_at = text_or_empty(json, "observedAt")};
  GpuNode& node = reading.node;
  const Json agent = object_at(json, "agent");
  const Json driver = object_at(json, "driver");
  const Json configuration = object_at(json, "configuration");
  node.agent = {.version = text_or_empty(agent, "version"),
                .started = text_or_empty(agent, "startedAt"),
                .boot_id = text_or_empty(json, "bootId"),
                .config_file = text_or_empty(configuration, "file"),
                .config_name = text_or_empty(configuration, "name"),
                .config_generation = value_or<std::uint64_t>(configuration, "generation", 0),
                .config_refused = value_or<std::uint64_t>(configuration, "refused", 0),
                .last_refusal = text_or_empty(configuration, "lastRefusal")};
  node.driver = meaning_of(kDriverKinds, text_or_empty(driver, "kind")).value_or(DriverKind::kNone);
  node.driver_version = text_or_empty(driver, "version");
  node.cuda_version = text_or_empty(driver, "cuda");
  node.driver_trouble = text_or_empty(driver, "trouble");
  node.is_released = value_or(driver, "released", false);
  for (const Json& gpu : list_at(json, "gpus")) {
    require_object(gpu, "a GPU");
    node.gpus.push_back(take_gpu(gpu, node.remedies));
  }
  std::ranges::sort(node.gpus, {}, [](const Gpu& gpu) {
    return std::tuple(gpu.index, std::string_view(gpu.uuid.text));
  });
  node.topology = take_links(json, node.gpus);
  for (const Json& entry : list_at(json, "resources")) {
    require_object(entry, "a resource");
    const std::string name = json_field<std::string>(entry, "name");
    const std::optional<Terms> terms = take_terms(entry);
    if (!terms) {
      reading.not_understood.push_back(name);
      continue;
    }
    ReportedResource resource{.offer = {.name = ResourceName(name), .terms = *terms}};
    for (const Json& device : list_at(entry, "devices")) take_device(device, node.gpus, resource);
    node.resources.push_back(std::move(resource));
  }
  node.holders_known = value_or(json, "holdersKnown", false);
  node.holders_problem = text_or_empty(json, "holdersProblem");
  for (const Json& holder : list_at(json, "holders")) node.holders.push_back(take_holder(holder));
  for (const Json& note : list_at(json, "notes")) {
    node.notes.push_back(json_value<std::string>(note, "a note"));
  }
  return reading;
}

}  // namespace

Result<GpuNodeReading> parse_gpu_node_status(std::string_view text) {
  try {
    return take_status(Json::parse(text));
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kInvalidArgument, problem.what()};
  }
}

}  // namespace tranche::formats
