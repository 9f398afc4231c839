// SPDX-License-Identifier: Apache-2.0
//
// The node's state as it is published to the cluster (GpuNode): GPUs, links, resources with what is
// free on each device, holders. It has everything that prediction.h needs to name the device that
// the agent will choose. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/ledger/coverage.h"
#include "core/ledger/ledger.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// What the agent knows of itself.
struct AgentReport {
  std::string version;
  std::string started;  // RFC 3339
  std::string boot_id;  // of the node
  std::string config_file;
  std::string config_name;              // of several named configurations; empty: there is one
  std::uint64_t config_generation = 0;  // 1 at start, one more with each reload
  std::uint64_t config_refused = 0;     // reloads that were refused
  std::string last_refusal;             // empty: the last reload was taken

  bool operator==(const AgentReport&) const = default;
};

// One resource. Which shares are held is not published, only how many: the numbers in `room` are
// the lowest ones.
struct ReportedResource {
  Offer offer;
  OfferRoom room;

  bool operator==(const ReportedResource&) const = default;
};

// What one container has of one device through one resource.
struct ReportedHolder {
  Holder holder;
  std::string resource;
  std::string device;                  // uuid
  std::optional<unsigned> gpu_number;  // empty: the node has no such GPU now
  std::uint64_t shares = 0;
  std::uint64_t bytes = 0;  // of memory; 0: not counted

  bool operator==(const ReportedHolder&) const = default;
};

struct GpuNode {
  AgentReport agent;
  DriverKind driver = DriverKind::kNone;
  std::string driver_version;
  std::string cuda_version;
  std::string driver_trouble;  // why the driver cannot be read; empty: it can
  bool is_released = false;    // a person closed the driver
  std::vector<Gpu> gpus;       // sorted by number
  std::vector<Remedy> remedies;
  Topology topology;
  std::vector<ReportedResource> resources;
  // False: it is not known what pods hold, and no share of any resource counts as free.
  bool holders_known = false;
  std::string holders_problem;
  std::vector<ReportedHolder> holders;
  std::vector<std::string> notes;  // for people: what is not offered, and why

  bool operator==(const GpuNode&) const = default;
};

// `ledger` null: not known, because of `ledger_problem`.
GpuNode gpu_node(const Inventory& inventory, const Catalog& catalog, const Ledger* ledger,
                 const std::string& ledger_problem, const AgentReport& agent);

// Free shares on healthy devices, and those of the device with the most.
struct FreeShares {
  std::uint64_t all = 0;
  std::uint64_t largest_block = 0;

  bool operator==(const FreeShares&) const = default;
};
FreeShares free_counts(const ReportedResource& resource);
std::uint64_t held_shares(const ReportedResource& resource);

// "8x H200", models by number of GPUs.
std::string models_text(const std::vector<Gpu>& gpus);
// "3 containers on 2 GPUs".
std::string held_text(const GpuNode& node);
// GPUs that are healthy with all their MIG devices; empty: not known.
std::optional<std::size_t> healthy_gpus(const GpuNode& node);
// "Healthy", "2 of 8 unhealthy: GPU 3: XID 79 …", "Unknown: …". For a column: of limited length.
std::string health_text(const GpuNode& node);

}  // namespace tranche::core
