// SPDX-License-Identifier: Apache-2.0
#include "apps/compose.h"

#include <memory>
#include <set>

#include "base/files.h"
#include "ledger/coverage.h"
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

// Where one MPS daemon serves one device, and where memory is counted, a
// container's shares come from one device.
bool wants_one_device(const Terms& terms, const MpsOptions& mps) {
  const bool own_daemon = terms.rung == Rung::kMps || terms.rung == Rung::kMpsExclusive;
  return terms.form == ShareForm::kMemory ||
         (own_daemon && terms.form != ShareForm::kWhole && mps.daemons == MpsDaemons::kPerGpu);
}

}  // namespace

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

Composition compose(const Inventory& inventory, const Settings& settings, const NodeFacts& facts,
                    const Ledger* ledger) {
  Composition composition{.catalog = offer(inventory, settings.sharing)};
  composition.oversized = oversized(composition.catalog);
  for (Offer& offer : composition.catalog.offers) {
    offer.terms.one_device = wants_one_device(offer.terms, settings.mps);
  }
  composition.needs_ledger = needs_ledger(composition.catalog);
  const auto all =
      composition.needs_ledger ? std::make_shared<const Catalog>(composition.catalog) : nullptr;
  const Coverage coverage(composition.catalog, all && ledger != nullptr ? *ledger : Ledger{});
  const std::string trouble = missing_channel(settings.grant, facts);
  for (Offer& offer : composition.catalog.offers) {
    if (!trouble.empty()) {
      for (OfferedDevice& device : offer.devices) device.health.troubles.push_back(trouble);
    }
    if (!oversized(offer).empty()) continue;
    Serving serving{.offer = offer,
                    .shown = shown(offer, all ? coverage.room(offer) : empty_room(offer)),
                    .counted_against = all,
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
