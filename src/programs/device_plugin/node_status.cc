// SPDX-License-Identifier: Apache-2.0
#include "apps/node_status.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "apps/version.h"
#include "ledger/coverage.h"
#include "sharing/memory_unit.h"

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
            {"driverIndex", or_null(gpu.driver_index)},
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

Json number_json(unsigned number, const NumberedSlot& slot, const std::vector<Gpu>& gpus) {
  const auto gpu = std::ranges::find(gpus, number, &Gpu::index);
  const std::optional<unsigned> index = gpu == gpus.end() ? std::nullopt : gpu->driver_index;
  return {{"number", number},
          {"pci", to_string(slot.pci)},
          {"uuid", slot.uuid.text},
          {"model", slot.model},
          {"present", index.has_value()},
          {"driverIndex", index ? Json(*index) : Json()}};
}

Json holder_json(const Holding& holding) {
  return {{"namespace", holding.holder.pod_namespace},
          {"pod", holding.holder.pod},
          {"podUid", holding.holder.pod_uid},
          {"container", holding.holder.container},
          {"resource", holding.resource},
          {"shares", holding.shares.size()},
          {"ids", holding.shares}};
}

Json mps_json(const MpsDaemonStatus& daemon) {
  return {
      {"name", daemon.plan.name},
      {"devices", daemon.plan.devices},
      {"state", to_string(daemon.state)},
      {"since",
       std::chrono::duration_cast<std::chrono::seconds>(daemon.since.time_since_epoch()).count()},
      {"restarts", daemon.restarts},
      {"lastProblem", daemon.last_problem},
      {"adopted", daemon.adopted},
      {"pid", daemon.pid},
      {"serverPid", or_null(daemon.server_pid)},
      {"clients", daemon.clients}};
}

Json terms_json(const Terms& terms) {
  return {{"share", word(terms.form)},
          {"unit", terms.unit_bytes == 0 ? Json() : Json(unit_text(terms.unit_bytes))},
          {"offer", terms.form == ShareForm::kMemory ? Json(word(terms.shown)) : Json()},
          {"placement", terms.form == ShareForm::kWhole ? Json() : Json(word(terms.placement))},
          {"distinctGpus", terms.distinct_gpus},
          {"oneDevice", terms.one_device},
          {"dialect", word(terms.dialect)},
          {"exposure", terms.dialect == Dialect::kNestedHost ? Json(word(terms.exposure)) : Json()},
          {"enforcement", word(terms.rung)}};
}

Json nested_json(const std::vector<NestedGrant>& grants) {
  Json json = Json::array();
  for (const NestedGrant& grant : grants) json.push_back(Json::parse(to_json(grant)));
  return json;
}

Json guest_json(const std::optional<GuestFacts>& guest) {
  if (!guest) return {};
  Json json{{"problem", guest->problem},
            {"source", nullptr},
            {"grants", Json::array()},
            {"gpuEnv", nullptr}};
  if (!guest->grant) return json;
  json["source"] = guest->grant->source;
  json["grants"] = nested_json(guest->grant->grants);
  if (const auto& env = guest->grant->env) {
    json["gpuEnv"] = {{"all", env->all}, {"names", env->names}};
  }
  return json;
}

// `room` is empty where it is not known what is held.
Json offer_json(const Offer& offer, const std::optional<OfferRoom>& room,
                const std::vector<ResourceStatus>& resources) {
  std::size_t healthy = 0;
  std::size_t held = 0;
  std::size_t free = 0;
  Json devices = Json::array();
  for (std::size_t i = 0; i < offer.devices.size(); ++i) {
    const OfferedDevice& device = offer.devices[i];
    if (device.health.ok()) healthy += device.shares();
    Json json{{"uuid", device.uuid},
              {"index", device.index()},
              {"shares", device.shares()},
              {"healthy", device.health.ok()}};
    if (device.share_bytes > 0) json["shareBytes"] = device.share_bytes;
    if (room) {
      json["held"] = (*room)[i].held.size();
      json["free"] = (*room)[i].free;
      held += (*room)[i].held.size();
      free += device.health.ok() ? (*room)[i].free : 0;
    }
    devices.push_back(std::move(json));
  }
  Json json{{"name", offer.name.text},
            {"terms", terms_json(offer.terms)},
            {"shares", offer.shares()},
            {"healthyShares", healthy},
            {"held", room ? Json(held) : Json()},
            {"free", room ? Json(free) : Json()},
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
            {"numbers", Json::array()},
            {"resources", Json::array()},
            {"holders", Json::array()},
            {"mpsDaemons", Json::array()},
            {"handedOff", nested_json(status.handed_off)},
            {"hostGrant", guest_json(status.host_grant)},
            {"notOffered", Json::array()},
            {"notes", status.catalog.notes},
            {"cdiProblem", status.cdi_problem}};
  for (const Gpu& gpu : status.inventory.gpus) json["gpus"].push_back(gpu_json(gpu));
  for (const auto& [number, slot] : status.inventory.numbers) {
    json["numbers"].push_back(number_json(number, slot, status.inventory.gpus));
  }
  const Coverage coverage(status.catalog, status.ledger.value_or(Ledger{}));
  for (const Offer& offer : status.catalog.offers) {
    json["resources"].push_back(
        offer_json(offer, status.ledger ? std::optional(coverage.room(offer)) : std::nullopt,
                   status.resources));
  }
  for (const Holding& holding : status.ledger.value_or(Ledger{}).holdings) {
    json["holders"].push_back(holder_json(holding));
  }
  for (const MpsDaemonStatus& daemon : status.mps) json["mpsDaemons"].push_back(mps_json(daemon));
  for (const Withheld& device : status.catalog.withheld) {
    json["notOffered"].push_back(
        {{"uuid", device.uuid}, {"index", device.index}, {"reason", device.reason}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tranche
