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

// Its shares stay listed, unhealthy, and count in the ledger: pods may hold some.
void make_unusable(Offer& offer, Catalog& catalog, const std::string& reason) {
  for (OfferedDevice& device : offer.devices) device.health.troubles.push_back(reason);
  catalog.notes.push_back(offer.name.text + " has no usable share: " + reason);
}

// Settles what holds each resource's containers. One that cannot be held as
// its policy demands has no usable share.
void settle_enforcement(Catalog& catalog, const Settings& settings, const Enforcers& enforcers) {
  for (Offer& offer : catalog.offers) {
    const Result<Rung> rung = settle(offer, enforcers);
    if (!rung) make_unusable(offer, catalog, rung.error().message);
    offer.terms.rung = rung ? *rung : Rung::kNone;
    offer.terms.one_device = wants_one_device(offer.terms, settings.mps);
    if (offer.terms.one_device && offer.terms.distinct_gpus) {
      make_unusable(offer, catalog,
                    "distinctGpus wants each share on another GPU, and with an MPS daemon for each "
                    "GPU a container's shares come from one; leave one of them out, or give "
                    "--mps-daemons=per-node");
    }
  }
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

}  // namespace

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
  const auto all = std::make_shared<const Catalog>(catalog);
  const Coverage coverage(catalog, circumstances.ledger ? *circumstances.ledger : Ledger{});
  for (const Offer& offer : catalog.offers) {
    if (!oversized(offer).empty()) continue;
    Serving serving{.offer = offer,
                    .shown = shown(offer, coverage.room(offer)),
                    .catalog = all,
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
