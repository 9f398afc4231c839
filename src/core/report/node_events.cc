// SPDX-License-Identifier: Apache-2.0
#include "core/report/node_events.h"

#include <fmt/core.h>

#include <map>
#include <set>
#include <utility>

#include "core/health/changes.h"
#include "core/ledger/holdings.h"

namespace tranche::core {
namespace {

// The pods with names, by device and by the GPU of a device.
using Pods = std::map<std::string, std::set<Holder>>;

Pods pods_by_device(const Catalog& catalog, const Ledger& ledger) {
  Pods pods;
  for (const PlacedHolding& placed : placed_holdings(catalog, ledger)) {
    Holder pod = placed.holding.holder;
    pod.container.clear();
    if (pod.pod.empty()) continue;
    for (const DeviceHolding& held : placed.devices) {
      pods[held.device].insert(pod);
      if (!held.gpu.empty()) pods[held.gpu].insert(pod);
    }
  }
  return pods;
}

std::string name_of(const InventoryChange& change) {
  const std::string pci = change.pci.empty() ? "" : ", " + change.pci;
  return fmt::format("GPU {} ({}{})", change.index, change.device, pci);
}

// Empty: the change needs no event.
std::optional<NodeEvent> event_of(const InventoryChange& change) {
  NodeEvent event{.is_warning = change.is_bad, .subject = change.device};
  switch (change.what) {
    case DeviceChange::kFound: return std::nullopt;
    case DeviceChange::kGone:
      event.reason = "GpuGone";
      event.note = fmt::format("{} is gone: {}", name_of(change), change.detail);
      break;
    case DeviceChange::kUnhealthy:
      event.reason = "GpuUnhealthy";
      event.note = fmt::format("{} is unhealthy: {}", name_of(change), change.detail);
      if (!change.cleared_by.empty()) event.note += "; cleared by: " + change.cleared_by;
      break;
    case DeviceChange::kHealthyAgain:
      event.reason = "GpuHealthy";
      event.note = fmt::format("{} is healthy again; {}", name_of(change), change.detail);
      if (!change.because.empty()) event.note += "; because: " + change.because;
      break;
  }
  return event;
}

NodeEvent driver_event(bool is_warning, std::string reason, std::string note) {
  return {.is_warning = is_warning,
          .reason = std::move(reason),
          .subject = "driver",
          .note = std::move(note)};
}

}  // namespace

std::vector<NodeEvent> InventoryEvents::take(const Inventory& now, const Catalog& catalog,
                                             const Ledger* ledger) {
  const Driver before = driver_;
  driver_ = now.released_at               ? Driver::kReleased
            : !now.driver_trouble.empty() ? Driver::kUnavailable
                                          : Driver::kReadable;
  std::vector<NodeEvent> events;
  if (driver_ != before) {
    switch (driver_) {
      case Driver::kReleased:
        events.push_back(
            driver_event(false, "DriverReleased",
                         "the driver was released; run `tranche-device-plugin resume` in "
                         "the agent's pod to reopen it"));
        break;
      case Driver::kUnavailable:
        events.push_back(driver_event(true, "DriverUnavailable",
                                      "the driver cannot be read: " + now.driver_trouble));
        break;
      case Driver::kReadable:
        events.push_back(driver_event(false, "DriverAvailable", "the driver can be read again"));
        break;
    }
  }
  if (driver_ != Driver::kReadable) return events;
  const Pods pods = ledger != nullptr ? pods_by_device(catalog, *ledger) : Pods{};
  for (const InventoryChange& change : changes_between(readable_.value_or(Inventory{}), now)) {
    const std::optional<NodeEvent> event = event_of(change);
    if (!event) continue;
    events.push_back(*event);
    const auto users = pods.find(change.device);
    if (users == pods.end()) continue;
    for (const Holder& pod : users->second) {
      events.push_back(*event);
      events.back().pod = pod;
    }
  }
  readable_ = now;
  return events;
}

NodeEvent allocation_refused(const std::string& resource, const std::string& reason) {
  return {.is_warning = true,
          .reason = "AllocationRefused",
          .subject = resource,
          .note = fmt::format("allocation of {} refused: {}", resource, reason)};
}

NodeEvent configuration_refused(const std::string& file, const std::string& reason) {
  return {.is_warning = true,
          .reason = "ConfigurationRefused",
          .subject = "configuration",
          .note = fmt::format("new configuration refused: {}; {} stays in force", reason,
                              file.empty() ? "the configuration without a file" : file)};
}

NodeEvent no_configuration(const std::string& reason) {
  return {
      .is_warning = true,
      .reason = "NoConfiguration",
      .subject = "configuration",
      .note = "no configuration can be in force, and no GPU is offered until one can: " + reason};
}

NodeEvent configuration_reloaded(const std::string& file) {
  return {.reason = "ConfigurationReloaded",
          .subject = "configuration",
          .note = file.empty() ? "configuration reloaded, without a file"
                               : "configuration reloaded from " + file};
}

}  // namespace tranche::core
