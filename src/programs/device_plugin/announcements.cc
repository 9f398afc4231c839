// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/announcements.h"

#include <utility>

#include "core/sharing/memory_unit.h"

namespace tranche::programs {

void Announcements::log_wanted(const Wanted& wanted) {
  log_catalog(wanted.catalog);
  const std::string& cdi = wanted.facts.cdi_problem;
  say("cdi", cdi.empty() ? "" : "CDI: " + cdi);
  say("size", wanted.oversized);
  say("empty", wanted.servings.empty() ? "no device to offer; waiting for one" : "");
  log_toolkit(wanted.facts.toolkit);
}

void Announcements::log_catalog(const Catalog& catalog) {
  std::set<std::string> now(catalog.notes.begin(), catalog.notes.end());
  for (const Withheld& device : catalog.withheld) {
    now.insert("device is not offered: " + device.uuid + ": " + device.reason);
  }
  for (const std::string& text : now) {
    if (!standing_.contains(text)) log_.warning(text);
  }
  standing_ = std::move(now);
  for (const Offer& offer : catalog.offers) log_terms(offer);
}

// What holds containers to their shares, where a share is less than a device.
void Announcements::log_terms(const Offer& offer) {
  const Terms& terms = offer.terms;
  if (terms.form == ShareForm::kWhole) return;
  if (terms.demanded && terms.enforcement != *terms.demanded) return;  // a note says why none is
  const std::string unit =
      terms.form == ShareForm::kMemory ? unit_text(terms.unit_bytes) : std::string("-");
  const std::string enforcement(to_string(terms.enforcement));
  if (!said_.changed("terms " + offer.name.text, unit + " " + enforcement)) return;
  log_.info("shares are offered", {{"resource", offer.name.text},
                                   {"share", std::string(to_string(terms.form))},
                                   {"unit", unit},
                                   {"enforcement", enforcement}});
}

void Announcements::log_grant(const HostGrant& grant, const Inventory& here) {
  const std::string what = to_string(grant);
  const std::string gpus = std::to_string(here.gpus.size());
  if (!said_.changed("grant", what + " " + gpus)) return;
  log_.info("granted by the host", {{"devices", what}, {"gpus", gpus}, {"source", grant.source}});
}

void Announcements::log_toolkit(const std::string& version) {
  if (!said_.changed("toolkit", version) || version.empty()) return;
  log_.info("CDI specifications have the hooks of NVIDIA's container toolkit on this node",
            {{"version", version}});
}

void Announcements::say(const std::string& about, const std::string& text) {
  if (said_.changed(about, text) && !text.empty()) log_.warning(text);
}

}  // namespace tranche::programs
