// SPDX-License-Identifier: Apache-2.0
#include "apps/compose.h"

#include <algorithm>
#include <memory>
#include <set>

#include "apps/held_devices.h"
#include "base/files.h"
#include "ledger/coverage.h"
#include "mps/client_limits.h"
#include "sharing/offer.h"

namespace tranche {
namespace {

// A channel that must be there and is not makes every device unusable.
std::string missing_channel(const GrantOptions& options, const NodeFacts& facts) {
  if (!options.imex_required || facts.imex_channels.size() == options.imex_channels.size()) {
    return {};
  }
  return "requested IMEX channel channel" + std::to_string(options.imex_channels.front()) +
         " does not exist";
}

// Before it is settled.
bool may_use_mps(const Offer& offer) {
  const Rung demanded = offer.terms.demanded.value_or(Rung::kMps);
  return offer.terms.form != ShareForm::kWhole &&
         (demanded == Rung::kMps || demanded == Rung::kMpsExclusive);
}

// Where one MPS daemon serves one device, and where memory is counted, a
// container's shares come from one device.
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

// Settles what holds each resource's containers. One that cannot be held as
// its policy demands is not offered at all.
void settle_enforcement(Catalog& catalog, const Settings& settings, const Enforcers& enforcers) {
  std::erase_if(catalog.offers, [&](Offer& offer) {
    const Result<Rung> rung = settle(offer, enforcers);
    if (!rung) {
      catalog.notes.push_back(offer.name.text + " is not offered: " + rung.error().message);
      return true;
    }
    offer.terms.rung = *rung;
    offer.terms.one_device = wants_one_device(offer.terms, settings.mps);
    if (offer.terms.one_device && offer.terms.distinct_gpus) {
      catalog.notes.push_back(
          offer.name.text +
          " is not offered: distinctGpus wants each share on another GPU, and with an MPS daemon "
          "for each GPU a container's shares come from one; leave one of them out, or give "
          "--mps-daemons=per-node");
      return true;
    }
    return false;
  });
}

void add_troubles(Catalog& catalog, const Settings& settings, const NodeFacts& facts) {
  const std::string channel = missing_channel(settings.grant, facts);
  for (Offer& offer : catalog.offers) {
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

// Neither a driver that could not be read, nor nodes that tell of no memory, nor
// programs that are being replaced must end anybody's daemon.
std::string why_mps_is_left_alone(const Inventory& inventory, const Settings& settings,
                                  const Circumstances& circumstances, const Catalog& catalog) {
  if (!inventory.driver_trouble.empty()) return inventory.driver_trouble;
  const bool are_ours =
      settings.mps.daemons == MpsDaemons::kPerGpu || settings.mps.daemons == MpsDaemons::kPerNode;
  if (are_ours && inventory.driver == DriverKind::kDeviceNodes) {
    return "only the GPUs' device nodes are known";
  }
  if (std::ranges::any_of(catalog.offers, may_use_mps)) return circumstances.enforcers.no_mps;
  return "";
}

// With numbers, because the configuration selects devices by them.
std::set<std::string> device_uuids(const Inventory& inventory) {
  std::set<std::string> uuids;
  for (const Gpu& gpu : inventory.gpus) {
    uuids.insert(std::to_string(gpu.index) + " " + gpu.uuid.text);
    for (const MigDevice& mig : gpu.mig) uuids.insert(mig.uuid.text);
  }
  return uuids;
}

}  // namespace

bool has_same_devices(const Inventory& one, const Inventory& other) {
  return device_uuids(one) == device_uuids(other);
}

Composition compose(const Inventory& inventory, const Settings& settings,
                    const Circumstances& circumstances) {
  const NodeFacts& facts = circumstances.facts;
  Composition composition{
      .catalog = offer(inventory, with_kept_units(settings.sharing, circumstances.kept_units))};
  Catalog& catalog = composition.catalog;
  composition.oversized = oversized(catalog);
  composition.leaves_mps_alone = why_mps_is_left_alone(inventory, settings, circumstances, catalog);
  settle_enforcement(catalog, settings, circumstances.enforcers);
  add_troubles(catalog, settings, facts);
  const Holders holders =
      circumstances.ledger ? holders_of(catalog, *circumstances.ledger) : Holders{};
  for (std::string& warning : mps_warnings(catalog, inventory, holders)) {
    catalog.notes.push_back(std::move(warning));
  }
  composition.needs_ledger = needs_ledger(catalog);
  composition.wants_ledger =
      composition.needs_ledger || std::ranges::any_of(catalog.offers, [&](const Offer& offer) {
        return offer.terms.form == ShareForm::kMemory ||
               offer.terms.dialect == Dialect::kNestedHost ||
               (uses_mps(offer.terms) && settings.mps.daemons != MpsDaemons::kOutside);
      });
  composition.has_leftovers =
      circumstances.ledger && Coverage(catalog, *circumstances.ledger).has_leftovers(catalog);
  // One name for each device is the kubelet's to keep apart, but for what it has
  // given by other names or in other parts.
  composition.wants_ledger |=
      circumstances.may_have_leftovers && (!circumstances.ledger || composition.has_leftovers);
  const bool counts =
      composition.needs_ledger || (composition.wants_ledger && circumstances.ledger);
  const auto all = counts ? std::make_shared<const Catalog>(catalog) : nullptr;
  const Coverage coverage(catalog, all && circumstances.ledger ? *circumstances.ledger : Ledger{});
  for (const Offer& offer : catalog.offers) {
    if (!oversized(offer).empty()) continue;
    Serving serving{.offer = offer,
                    .shown = shown(offer, all ? coverage.room(offer) : empty_room(offer)),
                    .counted_against = all,
                    .needs_ledger = composition.needs_ledger,
                    .topology = inventory.topology,
                    .grant = settings.grant,
                    .facts = facts};
    if (settings.grant.driver_mount) {
      serving.driver_folder = below(settings.host_root, settings.grant.driver_mount->host_path);
    }
    composition.servings.push_back(std::move(serving));
  }
  return composition;
}

}  // namespace tranche
