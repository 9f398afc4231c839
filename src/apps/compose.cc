// SPDX-License-Identifier: Apache-2.0
#include "apps/compose.h"

#include "base/files.h"
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

}  // namespace

Composition compose(const Inventory& inventory, const Settings& settings, const NodeFacts& facts) {
  Composition composition{.catalog = offer(inventory, settings.sharing)};
  composition.oversized = oversized(composition.catalog);
  const std::string trouble = missing_channel(settings.grant, facts);
  for (Offer& offer : composition.catalog.offers) {
    if (!trouble.empty()) {
      for (OfferedDevice& device : offer.devices) device.health.troubles.push_back(trouble);
    }
    if (list_bytes(offer) > kKubeletListLimit) continue;
    Serving serving{.offer = offer,
                    .topology = inventory.topology,
                    .shared_placement = settings.shared_placement,
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
