// SPDX-License-Identifier: Apache-2.0
#include "core/report/gpu_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/shortened.h"
#include "base/text.h"
#include "core/ledger/holdings.h"
#include "core/report/reason_groups.h"

namespace tranche::core {
namespace {

// The object must fit etcd; people read the first ones.
constexpr std::size_t kMostNotes = 32;
constexpr std::size_t kMostText = 1024;
constexpr std::size_t kMostColumn = 200;

std::string brief(const std::string& text) { return shortened(text, kMostText); }

Health brief(Health health) {
  for (std::string& trouble : health.troubles) trouble = brief(trouble);
  return health;
}

std::vector<Gpu> brief(std::vector<Gpu> gpus) {
  for (Gpu& gpu : gpus) {
    gpu.health = brief(std::move(gpu.health));
    for (MigDevice& mig : gpu.mig) mig.health = brief(std::move(mig.health));
  }
  return gpus;
}

std::vector<Remedy> brief(std::vector<Remedy> remedies) {
  for (Remedy& remedy : remedies) remedy.trouble = brief(remedy.trouble);
  return remedies;
}

AgentReport brief(AgentReport agent) {
  agent.last_refusal = brief(agent.last_refusal);
  return agent;
}

// The fields that placement and people use. What a container gets (device nodes, capabilities) is
// the agent's alone.
OfferedDevice published(const OfferedDevice& device) {
  return {.uuid = device.uuid,
          .gpu = device.gpu,
          .gpu_index = device.gpu_index,
          .mig_index = device.mig_index,
          .model = device.model,
          .numa_node = device.numa_node,
          .memory_bytes = device.memory_bytes,
          .replicas = device.replicas,
          .share_bytes = device.share_bytes,
          .health = brief(device.health)};
}

ReportedResource resource_of(const Offer& offer, const OfferRoom& room) {
  ReportedResource resource{.offer = {.name = offer.name, .terms = offer.terms}};
  for (const OfferedDevice& device : offer.devices) {
    resource.offer.devices.push_back(published(device));
  }
  for (const DeviceRoom& device : room) {
    DeviceRoom counted{.held = std::vector<unsigned>(device.held.size()), .free = device.free};
    std::iota(counted.held.begin(), counted.held.end(), 0U);
    resource.room.push_back(std::move(counted));
  }
  return resource;
}

bool is_whole(const Catalog& catalog, const std::string& resource) {
  return std::ranges::any_of(catalog.offers, [&](const Offer& offer) {
    return offer.name.text == resource && offer.terms.form == ShareForm::kWhole;
  });
}

std::uint64_t memory_of(const Gpu* gpu, const std::string& device) {
  if (gpu == nullptr) return 0;
  for (const MigDevice& mig : gpu->mig) {
    if (mig.uuid.text == device) return mig.memory_bytes;
  }
  return gpu->memory_bytes;
}

// By the order of `gpus`, which a reader can restore.
Topology in_order(const Topology& topology, const std::vector<Gpu>& gpus) {
  std::vector<GpuUuid> uuids;
  for (const Gpu& gpu : gpus) uuids.push_back(gpu.uuid);
  Topology ordered(uuids);
  for (std::size_t a = 0; a < uuids.size(); ++a) {
    for (std::size_t b = a + 1; b < uuids.size(); ++b) {
      const std::size_t from = topology.position(uuids[a]);
      const std::size_t to = topology.position(uuids[b]);
      if (from == Topology::kNowhere || to == Topology::kNowhere) continue;
      ordered.set(a, b, topology.between(from, to));
    }
  }
  return ordered;
}

OfferRoom unknown_room(const Offer& offer) { return OfferRoom(offer.devices.size()); }

std::vector<ReportedHolder> reported_holders(const Inventory& inventory, const Catalog& catalog,
                                             const Ledger& ledger) {
  std::vector<ReportedHolder> holders;
  for (const PlacedHolding& placed : placed_holdings(catalog, ledger)) {
    for (const DeviceHolding& held : placed.devices) {
      // Of a GPU that is not offered the ledger has the uuid alone.
      const Gpu* gpu = find_gpu(inventory, GpuUuid(held.gpu.empty() ? held.device : held.gpu));
      // The ledger counts no bytes of a device that is held as a whole.
      const bool all = held.bytes == 0 && is_whole(catalog, placed.holding.resource);
      holders.push_back({.holder = placed.holding.holder,
                         .resource = placed.holding.resource,
                         .device = held.device,
                         .gpu_number = gpu != nullptr ? std::optional(gpu->index) : std::nullopt,
                         .shares = held.shares.size(),
                         .bytes = all ? memory_of(gpu, held.device) : held.bytes});
    }
  }
  return holders;
}

bool is_healthy(const Gpu& gpu) {
  return gpu.health.ok() &&
         std::ranges::all_of(gpu.mig, [](const MigDevice& mig) { return mig.health.ok(); });
}

std::vector<std::string> notes_of(const Catalog& catalog) {
  std::vector<std::string> notes = catalog.notes;
  for (const Withheld& device : catalog.withheld) {
    notes.push_back(fmt::format("{} is not offered: {}", device.uuid, device.reason));
  }
  if (notes.size() > kMostNotes) notes.resize(kMostNotes);
  for (std::string& note : notes) note = brief(note);
  return notes;
}

}  // namespace

GpuNode gpu_node(const Inventory& inventory, const Catalog& catalog, const Ledger* ledger,
                 const std::string& ledger_problem, const AgentReport& agent) {
  GpuNode node{.agent = brief(agent),
               .driver = inventory.driver,
               .driver_version = inventory.driver_version,
               .cuda_version = inventory.cuda_version,
               .driver_trouble = brief(inventory.driver_trouble),
               .is_released = inventory.released_at.has_value(),
               .gpus = brief(inventory.gpus),
               .remedies = brief(inventory.remedies),
               .topology = in_order(inventory.topology, inventory.gpus),
               .holders_known = ledger != nullptr,
               .holders_problem = brief(ledger_problem),
               .notes = notes_of(catalog)};
  const Coverage coverage(catalog, ledger != nullptr ? *ledger : Ledger{});
  for (const Offer& offer : catalog.offers) {
    node.resources.push_back(
        resource_of(offer, ledger != nullptr ? coverage.room(offer) : unknown_room(offer)));
  }
  if (ledger != nullptr) node.holders = reported_holders(inventory, catalog, *ledger);
  return node;
}

FreeShares free_counts(const ReportedResource& resource) {
  FreeShares free;
  for (std::size_t i = 0; i < resource.room.size() && i < resource.offer.devices.size(); ++i) {
    if (!resource.offer.devices[i].health.ok()) continue;
    const std::uint64_t here = resource.room[i].free;
    free.all += here;
    free.largest_block = std::max(free.largest_block, here);
  }
  return free;
}

std::uint64_t held_shares(const ReportedResource& resource) {
  std::uint64_t held = 0;
  for (const DeviceRoom& device : resource.room) held += device.held.size();
  return held;
}

std::string models_text(const std::vector<Gpu>& gpus) {
  std::map<std::string, unsigned> counts;
  for (const Gpu& gpu : gpus) {
    const std::string_view model = gpu.model;
    constexpr std::string_view kMaker = "NVIDIA ";
    const bool has_maker = model.starts_with(kMaker);
    ++counts[model.empty() ? "unknown" : std::string(model.substr(has_maker ? kMaker.size() : 0))];
  }
  std::vector<std::pair<std::string, unsigned>> models(counts.begin(), counts.end());
  std::ranges::sort(models, {}, [](const auto& model) {
    return std::tuple(-static_cast<std::int64_t>(model.second), std::string_view(model.first));
  });
  std::vector<std::string> texts;
  texts.reserve(models.size());
  for (const auto& [model, count] : models) texts.push_back(fmt::format("{}x {}", count, model));
  return join(texts, ", ");
}

std::string held_text(const GpuNode& node) {
  if (!node.holders_known) return "unknown";
  std::set<std::tuple<Holder, std::string>> containers;
  std::set<std::string> gpus;
  for (const ReportedHolder& held : node.holders) {
    // A holder without any name is one container for each of its devices.
    containers.emplace(held.holder, held.holder == Holder{} ? held.device : "");
    gpus.insert(held.gpu_number ? std::to_string(*held.gpu_number) : held.device);
  }
  if (containers.empty()) return "none";
  return fmt::format("{} container{} on {} GPU{}", containers.size(),
                     containers.size() == 1 ? "" : "s", gpus.size(), gpus.size() == 1 ? "" : "s");
}

std::optional<std::size_t> healthy_gpus(const GpuNode& node) {
  if (node.is_released || !node.driver_trouble.empty()) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::count_if(node.gpus, is_healthy));
}

std::string health_text(const GpuNode& node) {
  if (node.is_released) {
    return "Unknown: the driver is released; run `tranche-device-plugin resume`";
  }
  const std::optional<std::size_t> healthy = healthy_gpus(node);
  if (!healthy) return shortened("Unknown: " + node.driver_trouble, kMostColumn);
  if (*healthy == node.gpus.size()) return "Healthy";
  ReasonGroups groups;
  for (const Gpu& gpu : node.gpus) {
    if (!gpu.health.ok()) groups.add(fmt::format("GPU {}", gpu.index), gpu.health.reason());
    for (const MigDevice& mig : gpu.mig) {
      if (!gpu.health.ok() || mig.health.ok()) continue;
      groups.add(fmt::format("GPU {}:{}", gpu.index, mig.index), mig.health.reason());
    }
  }
  return shortened(fmt::format("{} of {} unhealthy: {}", node.gpus.size() - *healthy,
                               node.gpus.size(), groups.text()),
                   kMostColumn);
}

}  // namespace tranche::core
