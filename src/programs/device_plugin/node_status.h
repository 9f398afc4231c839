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
#include "core/gpu/inventory.h"
#include "core/ledger/ledger.h"
#include "core/mps/mps_report.h"
#include "core/plan/observed.h"
#include "core/settings/config_choice.h"
#include "core/settings/settings.h"
#include "core/sharing/catalog.h"
#include "node/kubelet/resource_plugin.h"

namespace tranche::programs {

struct AgentFacts {
  bool running = false;     // else only `problem` is set
  std::string problem;      // why it could not be asked; empty: it answers, or none runs
  std::string started;      // UTC
  std::string config_file;  // in force; empty: none
  // With --config-dir: which of its configurations is in force, and why, for people.
  std::optional<ConfigChoice> configuration;
  std::string configuration_reason;
  std::uint64_t reloads_taken = 0;
  std::uint64_t reloads_refused = 0;
  std::string last_refusal;

  bool operator==(const AgentFacts&) const = default;
};

struct NodeStatus {
  std::string node_name;
  AgentFacts agent;
  Inventory inventory;
  Catalog catalog;
  std::optional<Ledger> ledger;           // what pods hold; empty: not known
  std::string ledger_problem;             // why it is not, or why it lacks the names of pods
  std::vector<ResourceStatus> resources;  // at the kubelet; empty without an agent
  std::string cdi_problem;
  std::string toolkit;                      // the version of NVIDIA's; empty: it is not used
  std::vector<MpsDaemonStatus> mps;         // daemons of ours
  std::vector<NestedGrant> handed_off;      // to pods that are themselves nodes
  std::optional<ObservedGrant> host_grant;  // where we are in such a pod
};

// As the cluster has it, or the host's.
std::string node_name(const Settings& settings);

std::string to_json(const NodeStatus& status);

// The tables for such a document.
Result<std::string> status_tables(std::string_view json);

// The part of it that is about one GPU, as JSON and for people. The word is as in
// gpu_words.h.
Result<std::string> gpu_json(std::string_view json, const std::string& word);
Result<std::string> gpu_text(std::string_view gpu_json);

// The pods that hold GPUs, of the whole document or of the part about one GPU. An error where
// that is not known.
struct HolderPods {
  std::string lines;                 // "namespace pod", a line each
  std::vector<std::string> unnamed;  // a sentence for each pod whose name is not known
};
Result<HolderPods> holder_pods(std::string_view json);

// Its GPU numbers alone, as a table or as JSON.
Result<std::string> numbers_table(std::string_view json);
Result<std::string> numbers_json(std::string_view json);

}  // namespace tranche::programs
