// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/node_status.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "core/ledger/coverage.h"
#include "core/ledger/holdings.h"
#include "core/sharing/memory_unit.h"
#include "formats/nested_grant_json.h"
#include "programs/device_plugin/status_cells.h"
#include "programs/device_plugin/version.h"

namespace tranche::programs {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// "clearedBy" has an entry for each reason, in their order; null: nobody can say.
Json health_json(const std::string& device, const Health& health, const Inventory& inventory) {
  Json cleared = Json::array();
  for (const std::string& trouble : health.troubles) {
    const auto remedy = std::ranges::find_if(inventory.remedies, [&](const Remedy& candidate) {
      return candidate.device == device && candidate.trouble == trouble;
    });
    cleared.push_back(remedy == inventory.remedies.end() ? Json() : Json(remedy->what));
  }
  return {
      {"healthy", health.ok()}, {"reasons", health.troubles}, {"clearedBy", std::move(cleared)}};
}

Json mig_json(const MigDevice& mig, const Inventory& inventory) {
  return {{"uuid", mig.uuid.text},
          {"index", mig.index},
          {"profile", to_string(mig.profile)},
          {"gpuInstance", mig.gpu_instance},
          {"computeInstance", mig.compute_instance},
          {"memoryBytes", mig.memory_bytes},
          {"health", health_json(mig.uuid.text, mig.health, inventory)}};
}

Json gpu_json(const Gpu& gpu, const Inventory& inventory) {
  const bool is_released =
      std::ranges::find(inventory.released, gpu.uuid) != inventory.released.end();
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
            {"released", is_released},
            {"health", health_json(gpu.uuid.text, gpu.health, inventory)},
            {"mig", Json::array()}};
  for (const MigDevice& mig : gpu.mig) json["mig"].push_back(mig_json(mig, inventory));
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

// "3", or "3:1" of a MIG device.
Json device_index(const Gpu& gpu, const std::string& device) {
  const auto mig = std::ranges::find(gpu.mig, MigUuid(device), &MigDevice::uuid);
  std::string index = std::to_string(gpu.index);
  if (mig != gpu.mig.end()) index += ":" + std::to_string(mig->index);
  return index;
}

Json holder_json(const PlacedHolding& placed, const Inventory& inventory) {
  const Holding& holding = placed.holding;
  Json json{{"namespace", holding.holder.pod_namespace},
            {"pod", holding.holder.pod},
            {"podUid", holding.holder.pod_uid},
            {"container", holding.holder.container},
            {"resource", holding.resource},
            {"shares", holding.shares.size()},
            {"ids", holding.shares},
            {"devices", Json::array()}};
  for (const DeviceHolding& held : placed.devices) {
    // Of a GPU that is not offered the ledger knows the uuid alone.
    const GpuUuid uuid(held.gpu.empty() ? held.device : held.gpu);
    const Gpu* gpu = find_gpu(inventory, uuid);
    json["devices"].push_back(
        {{"gpu", gpu != nullptr ? Json(gpu->index) : Json()},
         {"gpuUuid", gpu != nullptr || !held.gpu.empty() ? Json(uuid.text) : Json()},
         {"pci", gpu != nullptr && gpu->pci ? Json(to_string(*gpu->pci)) : Json()},
         {"device", held.device},
         {"index", gpu != nullptr ? device_index(*gpu, held.device) : Json()},
         {"shares", held.shares.size()},
         {"ids", held.shares},
         {"memoryBytes", held.bytes == 0 ? Json() : Json(held.bytes)}});
  }
  return json;
}

Json withheld_json(const WithheldShares& withheld) {
  return {{"resource", withheld.resource}, {"gpuUuid", withheld.gpu},
          {"device", withheld.device},     {"index", withheld.index},
          {"shares", withheld.shares},     {"reason", to_string(withheld)}};
}

// "3", or "3:1" of a MIG device; the uuid of one that is not there.
Json indexes_of(const std::vector<std::string>& devices, const Inventory& inventory) {
  Json indexes = Json::array();
  for (const std::string& device : devices) {
    const auto gpu = std::ranges::find_if(inventory.gpus, [&](const Gpu& candidate) {
      return candidate.uuid.text == device ||
             std::ranges::find(candidate.mig, MigUuid(device), &MigDevice::uuid) !=
                 candidate.mig.end();
    });
    indexes.push_back(gpu == inventory.gpus.end() ? Json(device) : device_index(*gpu, device));
  }
  return indexes;
}

std::string time_text(std::chrono::system_clock::time_point when) {
  return utc(std::chrono::system_clock::to_time_t(when));
}

Json mps_json(const MpsDaemonStatus& daemon, const Inventory& inventory) {
  return {
      {"name", daemon.plan.name},
      {"devices", daemon.plan.devices},
      {"indexes", indexes_of(daemon.plan.devices, inventory)},
      {"state", to_string(daemon.state)},
      {"since",
       std::chrono::duration_cast<std::chrono::seconds>(daemon.since.time_since_epoch()).count()},
      {"sinceTime", time_text(daemon.since)},
      {"restarts", daemon.restarts},
      {"lastProblem", daemon.last_problem},
      {"lastProblemTime",
       daemon.last_problem.empty() ? Json() : Json(time_text(daemon.last_problem_at))},
      {"adopted", daemon.adopted},
      {"pid", daemon.pid},
      {"serverPid", or_null(daemon.server_pid)},
      {"clients", daemon.clients},
      {"clientsRule", daemon.rules.clients == MpsClients::kNonRoot ? "non-root" : "any"},
      {"rootClients", daemon.root_clients},
      {"limitsHoldFor", daemon.limits_hold_for()},
      {"foreignCommands", daemon.foreign_commands},
      {"lastForeignCommand", daemon.foreign_command}};
}

Json terms_json(const Terms& terms) {
  return {
      {"share", to_string(terms.form)},
      {"unit", terms.unit_bytes == 0 ? Json() : Json(unit_text(terms.unit_bytes))},
      {"offer", terms.form == ShareForm::kMemory ? Json(to_string(terms.shown)) : Json()},
      {"placement", terms.form == ShareForm::kWhole ? Json() : Json(to_string(terms.placement))},
      {"distinctGpus", terms.distinct_gpus},
      {"oneDevice", terms.one_device},
      {"dialect", to_string(terms.dialect)},
      {"exposure",
       terms.dialect == Dialect::kNestedHost ? Json(to_string(terms.exposure)) : Json()},
      {"enforcement", to_string(terms.enforcement)},
      {"enforcementDemanded", terms.demanded ? Json(to_string(*terms.demanded)) : Json()}};
}

Json nested_json(const std::vector<NestedGrant>& grants) {
  Json json = Json::array();
  for (const NestedGrant& grant : grants) json.push_back(Json::parse(formats::to_json(grant)));
  return json;
}

Json guest_json(const std::optional<ObservedGrant>& guest) {
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
  std::size_t allocatable = 0;
  const OfferRoom listed = shown(offer, room.value_or(empty_room(offer)));
  Json devices = Json::array();
  for (std::size_t i = 0; i < offer.devices.size(); ++i) {
    const OfferedDevice& device = offer.devices[i];
    if (device.health.ok()) {
      healthy += device.shares();
      allocatable += listed[i].held.size() + listed[i].free;
    }
    Json json{{"uuid", device.uuid},           {"gpuUuid", device.gpu.text},
              {"index", device.index()},       {"shares", device.shares()},
              {"healthy", device.health.ok()}, {"reasons", device.health.troubles}};
    if (device.share_bytes > 0) json["shareBytes"] = device.share_bytes;
    if (room) {
      json["held"] = (*room)[i].held.size();
      const std::size_t left = device.health.ok() ? (*room)[i].free : 0;
      json["free"] = left;
      held += (*room)[i].held.size();
      free += left;
    }
    devices.push_back(std::move(json));
  }
  Json json{{"name", offer.name.text},
            {"terms", terms_json(offer.terms)},
            {"shares", offer.shares()},
            {"healthyShares", healthy},
            {"allocatable", allocatable},
            {"held", room ? Json(held) : Json()},
            {"free", room ? Json(free) : Json()},
            {"devices", std::move(devices)}};
  const auto at_kubelet = std::ranges::find(resources, offer.name.text, &ResourceStatus::resource);
  if (at_kubelet == resources.end()) return json;
  json["kubelet"] = {{"registered", at_kubelet->phase == RegistrationPhase::kUp},
                     {"state", state_text(*at_kubelet)},
                     {"registrations", at_kubelet->registrations},
                     {"lastError", at_kubelet->last_error},
                     {"socket", at_kubelet->socket},
                     {"allocationsGranted", at_kubelet->calls.granted},
                     {"allocationsRefused", at_kubelet->calls.refused},
                     {"listsSent", at_kubelet->calls.lists_sent}};
  return json;
}

}  // namespace

std::string node_name(const Settings& settings) {
  if (!settings.node_name.empty()) return settings.node_name;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "not known";
}

namespace {

Json configuration_json(const AgentFacts& agent) {
  if (!agent.configuration) return {};
  return {{"name", agent.configuration->name},
          {"chosenBy", text_of(kChosenBy, agent.configuration->by)},
          {"remembered", agent.configuration->is_remembered},
          {"reason", agent.configuration_reason}};
}

}  // namespace

std::string to_json(const NodeStatus& status) {
  const Inventory& inventory = status.inventory;
  const bool is_unknown = !status.agent.running && !status.agent.problem.empty();
  Json json{
      {"node", status.node_name},
      {"agent",
       {{"running", is_unknown ? Json() : Json(status.agent.running)},
        {"problem", status.agent.problem},
        {"version", kVersion},
        {"started", status.agent.started},
        {"configFile", status.agent.config_file},
        {"configuration", configuration_json(status.agent)},
        {"reloadsTaken", status.agent.reloads_taken},
        {"reloadsRefused", status.agent.reloads_refused},
        {"lastRefusal", status.agent.last_refusal}}},
      {"driver",
       {{"kind", to_string(inventory.driver)},
        {"version", inventory.driver_version},
        {"cuda", inventory.cuda_version},
        {"trouble", inventory.driver_trouble},
        {"releasedAt", or_null(inventory.released_at)},
        {"releasedAtTime", inventory.released_at ? Json(utc(*inventory.released_at)) : Json()},
        {"closed", inventory.released_at && inventory.still_open.empty()},
        {"notClosedBecause", inventory.still_open}}},
      {"gpus", Json::array()},
      {"numbers", Json::array()},
      {"resources", Json::array()},
      {"holders", Json::array()},
      {"holdersProblem", status.ledger ? "" : status.ledger_problem},
      {"holderNamesProblem", status.ledger ? status.ledger_problem : ""},
      {"notAllocatable", Json::array()},
      {"mpsDaemons", Json::array()},
      {"handedOff", nested_json(status.handed_off)},
      {"hostGrant", guest_json(status.host_grant)},
      {"notOffered", Json::array()},
      {"notes", status.catalog.notes},
      {"cdiProblem", status.cdi_problem},
      {"cdiToolkit", status.toolkit}};
  for (const Gpu& gpu : inventory.gpus) json["gpus"].push_back(gpu_json(gpu, inventory));
  for (const auto& [number, slot] : inventory.numbers) {
    json["numbers"].push_back(number_json(number, slot, inventory.gpus));
  }
  const Ledger ledger = status.ledger.value_or(Ledger{});
  const Coverage coverage(status.catalog, ledger);
  for (const Offer& offer : status.catalog.offers) {
    json["resources"].push_back(
        offer_json(offer, status.ledger ? std::optional(coverage.room(offer)) : std::nullopt,
                   status.resources));
  }
  for (const PlacedHolding& placed : placed_holdings(status.catalog, ledger)) {
    json["holders"].push_back(holder_json(placed, inventory));
  }
  for (const WithheldShares& withheld : withheld_shares(status.catalog, ledger)) {
    json["notAllocatable"].push_back(withheld_json(withheld));
  }
  for (const MpsDaemonStatus& daemon : status.mps) {
    json["mpsDaemons"].push_back(mps_json(daemon, inventory));
  }
  for (const Withheld& device : status.catalog.withheld) {
    json["notOffered"].push_back(
        {{"uuid", device.uuid}, {"index", device.index}, {"reason", device.reason}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tranche::programs
