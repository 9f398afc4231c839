// SPDX-License-Identifier: Apache-2.0
//
// Events for people: of the Node, and of each pod that has the device. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/ledger/ledger.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

struct NodeEvent {
  // The pod that it is about; without a pod name: the Node.
  Holder pod;
  bool is_warning = false;
  std::string reason;   // "GpuUnhealthy"
  std::string subject;  // a device's uuid, a resource; repeats are counted for each
  std::string note;

  bool operator==(const NodeEvent&) const = default;
};

// Compares each inventory with the last one that could be read. A driver that cannot be read, or
// that a person released, is one event and not one for each GPU.
class InventoryEvents {
 public:
  // `ledger` null: the pods are not known.
  std::vector<NodeEvent> take(const Inventory& now, const Catalog& catalog, const Ledger* ledger);

 private:
  enum class Driver { kReadable, kUnavailable, kReleased };

  std::optional<Inventory> readable_;
  Driver driver_ = Driver::kReadable;
};

NodeEvent allocation_refused(const std::string& resource, const std::string& reason);
// `file` stays in force; empty: there is none.
NodeEvent configuration_refused(const std::string& file, const std::string& reason);
// At start.
NodeEvent no_configuration(const std::string& reason);
NodeEvent configuration_reloaded(const std::string& file);

}  // namespace tranche::core
