// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "base/path.h"
#include "core/cdi/cdi_hooks.h"
#include "core/features/feature_labels.h"
#include "core/grant/enforcement.h"
#include "core/grant/parts.h"
#include "core/ledger/coverage.h"
#include "core/mps/client_limits.h"
#include "core/nested/guest_health.h"
#include "core/plan/held_devices.h"
#include "core/sharing/offer.h"

namespace tranche::core {
namespace {

// A missing required channel makes every device unusable.
std::string missing_channel(const GrantOptions& options, const NodeFacts& facts) {
  if (!options.imex_required || facts.imex_channels.size() == options.imex_channels.size()) {
    return {};
  }
  return fmt::format("requested IMEX channel channel{} does not exist",
                     options.imex_channels.front());
}

// Asked before the enforcement level is decided.
bool may_use_mps(const Offer& offer) {
  const Enforcement demanded = offer.terms.demanded.value_or(Enforcement::kMps);
  return offer.terms.form != ShareForm::kWhole &&
         (demanded == Enforcement::kMps || demanded == Enforcement::kMpsExclusive);
}

// Memory shares, and shares behind one MPS daemon per GPU, must come from one device.
bool wants_one_device(const Terms& terms, const MpsOptions& mps) {
  const bool own_daemon = uses_mps(terms) && mps.daemons == MpsDaemons::kPerGpu;
  return terms.form == ShareForm::kMemory || terms.dialect == Dialect::kGpushare ||
         (own_daemon && terms.form != ShareForm::kWhole);
}

bool needs_ledger(const Catalog& catalog) {
  std::set<std::string> seen;
  for (const Offer& offer : catalog.offers) {
    if (offer.terms.shown == ShownSize::kLargestBlock) return true;
    for (const OfferedDevice& device : offer.devices) {
      if (!seen.insert(device.uuid).second) return true;
    }
  }
  return false;
}

// The shares stay listed as unhealthy and count in the ledger, because pods may hold some.
void make_unusable(Offer& offer, Catalog& catalog, const std::string& reason) {
  for (OfferedDevice& device : offer.devices) device.health.troubles.push_back(reason);
  catalog.notes.push_back(fmt::format("{} has no usable share: {}", offer.name.text, reason));
}

// Decides each resource's enforcement level. A resource whose policy demands a level that the
// node does not support has no usable share.
void settle_enforcement(Catalog& catalog, const Settings& settings, const Enforcers& enforcers) {
  for (Offer& offer : catalog.offers) {
    const Result<Enforcement> enforcement = settle(offer, enforcers);
    if (!enforcement) make_unusable(offer, catalog, enforcement.error().message);
    offer.terms.enforcement = enforcement ? *enforcement : Enforcement::kNone;
    if (std::string why = unenforced_memory(offer, offer.terms.enforcement, enforcers);
        !why.empty()) {
      catalog.notes.push_back(std::move(why));
    }
    offer.terms.one_device = wants_one_device(offer.terms, settings.mps);
    if (offer.terms.one_device && offer.terms.distinct_gpus) {
      make_unusable(
          offer, catalog,
          "distinctGpus needs each share on a different GPU, but with one MPS daemon per GPU "
          "all shares of a container come from one GPU; remove distinctGpus or set "
          "--mps-daemons=per-node");
    }
  }
}

// Problems of external daemons, and of devices that no daemon can serve. They are shown nowhere
// else; our own daemons have a table and a log.
std::set<std::string> mps_notes(const Offer& offer, const MpsOptions& options,
                                const NodeFacts& facts) {
  std::set<std::string> notes;
  const bool is_external =
      options.daemons == MpsDaemons::kOutside || options.daemons == MpsDaemons::kNvidia;
  for (const OfferedDevice& device : offer.devices) {
    const auto wiring = facts.mps.find(device.uuid);
    if (!uses_mps(offer.terms) || wiring == facts.mps.end()) continue;
    const bool is_refused = wiring->second.mounts.empty();
    if ((is_external || is_refused) && !wiring->second.problem.empty()) {
      notes.insert(fmt::format("{} has no usable share{}: MPS: {}", offer.name.text,
                               is_external ? "" : " of " + device.uuid, wiring->second.problem));
    }
    if (!wiring->second.caution.empty()) {
      notes.insert(fmt::format("{}: MPS: {}", offer.name.text, wiring->second.caution));
    }
  }
  return notes;
}

void add_troubles(Catalog& catalog, const Settings& settings, const NodeFacts& facts) {
  const std::string channel = missing_channel(settings.grant, facts);
  for (Offer& offer : catalog.offers) {
    for (const std::string& note : mps_notes(offer, settings.mps, facts)) {
      catalog.notes.push_back(note);
    }
    for (OfferedDevice& device : offer.devices) {
      if (!channel.empty()) device.health.troubles.push_back(channel);
      if (!uses_mps(offer.terms)) continue;
      const auto wiring = facts.mps.find(device.uuid);
      if (wiring == facts.mps.end()) {
        device.health.troubles.emplace_back("MPS: its daemon is not there yet");
      } else if (!wiring->second.problem.empty()) {
        device.health.troubles.push_back("MPS: " + wiring->second.problem);
      }
    }
  }
}

bool are_ours(const MpsOptions& options) {
  return options.daemons == MpsDaemons::kPerGpu || options.daemons == MpsDaemons::kPerNode;
}

// Stopping a daemon ends its clients. Do not stop daemons because the driver cannot be read,
// memory sizes are unknown, or the MPS programs are being replaced.
std::string mps_hold_reason(const Inventory& inventory, const MpsOptions& options,
                            const Enforcers& node, const Catalog& catalog) {
  if (!inventory.driver_trouble.empty()) return inventory.driver_trouble;
  if (are_ours(options) && inventory.driver == DriverKind::kDeviceNodes) {
    return "only the GPUs' device nodes are known";
  }
  if (std::ranges::any_of(catalog.offers, may_use_mps)) return node.no_mps;
  return "";
}

bool uses_driver_limits(const Catalog& catalog) {
  return std::ranges::any_of(catalog.offers, [](const Offer& offer) {
    return offer.terms.enforcement == Enforcement::kDriver;
  });
}

// The resources without a usable share of a device because our daemon for it is in trouble. A
// daemon that starts or stops gets no note.
std::vector<std::string> mps_trouble_notes(const Catalog& catalog,
                                           const std::vector<MpsDaemonStatus>& daemons) {
  std::vector<std::string> notes;
  for (const MpsDaemonStatus& daemon : daemons) {
    if (daemon.state != MpsState::kTrouble) continue;
    for (const Offer& offer : catalog.offers) {
      if (!uses_mps(offer.terms)) continue;
      for (const OfferedDevice& device : offer.devices) {
        if (std::ranges::count(daemon.plan.devices, device.uuid) == 0) continue;
        notes.push_back(fmt::format("{} has no usable share of {}: MPS: {}", offer.name.text,
                                    device.uuid, daemon.problem()));
      }
    }
  }
  return notes;
}

// All of the driver's GPUs or, on a guest, those that the host granted.
GuestInventory granted_inventory(const Observed& observed) {
  if (!observed.guest) return {.inventory = observed.inventory};
  const ObservedGrant& guest = *observed.guest;
  if (!guest.grant) return unknown_part(observed.inventory, guest.problem);
  GuestInventory granted = granted_part(observed.inventory, *guest.grant);
  if (!guest.problem.empty()) {
    granted.notes.push_back("the host's grant cannot be read; keeping the last one: " +
                            guest.problem);
  }
  return granted;
}

Enforcers node_enforcers(const Observed& observed, const Inventory& inventory,
                         const Settings& settings) {
  Enforcers node = enforcers(inventory, settings.grant, settings.cdi.disabled_hooks);
  if (observed.cdi && only_by_cdi(settings.grant.list)) {
    node.no_driver_hook = no_limit_hook(settings.cdi, observed.cdi->files.toolkit);
  }
  node.external_mps = !are_ours(settings.mps);
  if (node.external_mps) {
    node.no_exclusive = "the MPS daemons are external; their owner sets the compute mode";
  } else if (!observed.mps.no_programs.empty()) {
    node.no_mps = observed.mps.no_programs;
  } else if (inventory.driver == DriverKind::kDeviceNodes) {
    node.no_mps =
        "the driver's library is missing, and device nodes do not show memory and MIG devices";
  }
  return node;
}

NodeFacts node_facts(const Observed& observed, const Inventory& inventory,
                     const Settings& settings) {
  NodeFacts facts{.control_nodes = observed.control_nodes,
                  .imex_channels = observed.imex_channels,
                  .driver_version = inventory.driver_version,
                  .devices = node_devices(inventory),
                  .excluded = excluded_gpus(inventory, settings.sharing),
                  .mps = observed.mps.report.wirings,
                  .driver_limits_memory = inventory.limits_memory};
  if (!observed.cdi) return facts;
  facts.toolkit = to_string(observed.cdi->files.toolkit);
  facts.cdi = observed.cdi->state.devices;
  facts.cdi_problem = observed.cdi->state.problem;
  for (const auto& [what, why] : observed.cdi->state.left_out) {
    if (!facts.cdi_problem.empty()) facts.cdi_problem += "; ";
    facts.cdi_problem += fmt::format("{}: {}", what, why);
  }
  return facts;
}

// Without a ledger, daemons limit clients to no less than a whole device.
MpsPlan mps_plan(const Catalog& catalog, const MpsOptions& options, const Ledger* ledger) {
  MpsPlan plan = plan_mps(catalog, options,
                          ledger != nullptr ? largest_held(catalog, *ledger) : LargestHeld{});
  for (MpsDaemonPlan& daemon : plan.daemons) {
    daemon.unheld = ledger != nullptr && is_unheld(daemon.devices, catalog, *ledger);
  }
  plan.rules = options.rules;
  return plan;
}

NestedHealth nested_health(const std::vector<NestedGrant>& grants, const Catalog& catalog,
                           const Inventory& inventory) {
  NestedHealth health;
  for (const NestedGrant& grant : grants) {
    for (const NestedDevice& device : grant.devices) {
      health[{grant.resource, device.uuid}] =
          guest_health(catalog, inventory, grant.resource, device);
    }
  }
  return health;
}

void add_notes(Catalog& catalog, const Observed& observed, const Inventory& inventory) {
  const Holders holders = observed.ledger ? holders_of(catalog, *observed.ledger) : Holders{};
  for (std::string& warning : mps_warnings(catalog, inventory, holders)) {
    catalog.notes.push_back(std::move(warning));
  }
}

std::vector<Serving> servings_of(const Wanted& wanted, const Observed& observed,
                                 const Settings& settings) {
  std::vector<Serving> servings;
  const auto all = std::make_shared<const Catalog>(wanted.catalog);
  const Coverage coverage(wanted.catalog, observed.ledger ? *observed.ledger : Ledger{});
  for (const Offer& offer : wanted.catalog.offers) {
    if (!oversized(offer).empty()) continue;
    Serving serving{.offer = offer,
                    .shown = shown(offer, coverage.room(offer)),
                    .catalog = all,
                    .topology = wanted.inventory.topology,
                    .grant = settings.grant,
                    .facts = wanted.facts};
    if (settings.grant.driver_mount) {
      serving.driver_folder = below(settings.host_root, settings.grant.driver_mount->host_path);
    }
    servings.push_back(std::move(serving));
  }
  return servings;
}

CdiPlan wanted_cdi(const Wanted& wanted, const DriverFiles& files, const Settings& settings) {
  CdiOptions options = settings.cdi;
  options.limits_memory = wanted.limits_memory;
  return cdi_plan(wanted.inventory, files, options, settings.grant);
}

std::optional<NodeLabels> wanted_labels(const Wanted& wanted, const Observed& observed,
                                        const Settings& settings) {
  if (settings.features.labels == LabelOutput::kNone) return std::nullopt;
  const Inventory& inventory = wanted.inventory;
  // Without the driver only GPUs with a remembered fault may be known. The labels stay meanwhile.
  if (inventory.driver == DriverKind::kNone) return std::nullopt;
  return feature_labels(inventory, wanted.catalog, settings.sharing, observed.machine);
}

std::string refusal(const Wanted& wanted, const Observed& observed) {
  if (!wanted.oversized.empty()) return wanted.oversized;
  return needs_ledger(wanted.catalog) ? observed.no_ledger : std::string();
}

}  // namespace

Wanted plan(const Observed& observed, const Settings& settings) {
  GuestInventory granted = granted_inventory(observed);
  Wanted wanted{.inventory = std::move(granted.inventory)};
  const Inventory& inventory = wanted.inventory;
  Catalog& catalog = wanted.catalog;
  const Enforcers node = node_enforcers(observed, inventory, settings);
  catalog = offer(inventory, with_kept_units(settings.sharing, observed.units));
  wanted.oversized = oversized(catalog);
  wanted.mps_hold_reason = mps_hold_reason(inventory, settings.mps, node, catalog);
  settle_enforcement(catalog, settings, node);
  wanted.limits_memory = observed.limits_memory || uses_driver_limits(catalog);
  if (observed.cdi) wanted.cdi = wanted_cdi(wanted, observed.cdi->files, settings);
  wanted.facts = node_facts(observed, inventory, settings);
  add_troubles(catalog, settings, wanted.facts);
  add_notes(catalog, observed, inventory);
  wanted.servings = servings_of(wanted, observed, settings);
  wanted.refusal = refusal(wanted, observed);
  if (wanted.mps_hold_reason.empty()) {
    wanted.mps = mps_plan(catalog, settings.mps, observed.ledger.get());
  }
  wanted.units = inventory.driver_trouble.empty()
                     ? units_to_keep(settings.sharing, catalog, observed.units)
                     : observed.units;
  wanted.nested_health = nested_health(observed.handed_off, catalog, inventory);
  wanted.labels = wanted_labels(wanted, observed, settings);
  std::ranges::move(granted.notes, std::back_inserter(catalog.notes));
  std::ranges::move(mps_trouble_notes(catalog, observed.mps.report.daemons),
                    std::back_inserter(catalog.notes));
  return wanted;
}

}  // namespace tranche::core
