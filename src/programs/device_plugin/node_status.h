// SPDX-License-Identifier: Apache-2.0
//
// What the node has, offers and does, as one document: JSON for programs, and
// tables made from that JSON for people. So both say the same, whether the
// document comes from a running agent or from a look of our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "kubelet/resource_plugin.h"
#include "ledger/ledger.h"
#include "mps/report.h"
#include "nested/host_grant.h"
#include "sharing/catalog.h"

namespace tranche {

struct AgentFacts {
  bool running = false;  // else the rest is empty
  std::string started;   // UTC
  std::string config_file;
  std::uint64_t reloads_taken = 0;
  std::uint64_t reloads_refused = 0;
  std::string last_refusal;

  bool operator==(const AgentFacts&) const = default;
};

// In a nested cluster: what the host has granted.
struct GuestFacts {
  std::optional<HostGrant> grant;  // empty: it is not known yet
  std::string problem;

  bool operator==(const GuestFacts&) const = default;
};

struct NodeStatus {
  AgentFacts agent;
  Inventory inventory;
  Catalog catalog;
  std::optional<Ledger> ledger;           // who holds what; empty: it is not asked after
  std::vector<ResourceStatus> resources;  // at the kubelet; empty without an agent
  std::string cdi_problem;
  std::vector<MpsDaemonStatus> mps;      // daemons of ours
  std::vector<NestedGrant> handed_off;   // to pods that are themselves nodes
  std::optional<GuestFacts> host_grant;  // where we are in such a pod
};

std::string to_json(const NodeStatus& status);

// The tables for such a document.
Result<std::string> status_tables(std::string_view json);

// Its GPU numbers alone, as a table or as JSON.
Result<std::string> numbers_table(std::string_view json);
Result<std::string> numbers_json(std::string_view json);

}  // namespace tranche
