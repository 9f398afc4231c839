// SPDX-License-Identifier: Apache-2.0
#include "apps/announcements.h"

#include <utility>

#include "sharing/memory_unit.h"

namespace tranche {

void Announcements::tell(const Composition& composition, const std::string& cdi_problem) {
  tell_catalog(composition.catalog);
  say("cdi", cdi_problem.empty() ? "" : "CDI: " + cdi_problem);
  say("size", composition.oversized);
  say("empty", composition.servings.empty() ? "no device to offer; waiting for one" : "");
}

void Announcements::tell_catalog(const Catalog& catalog) {
  std::set<std::string> now(catalog.notes.begin(), catalog.notes.end());
  for (const Withheld& device : catalog.withheld) {
    now.insert("device is not offered: " + device.uuid + ": " + device.reason);
  }
  for (const std::string& text : now) {
    if (!standing_.contains(text)) log_.warning(text);
  }
  standing_ = std::move(now);
  for (const Offer& offer : catalog.offers) tell_terms(offer);
}

// What holds containers to their shares, where a share is less than a device.
void Announcements::tell_terms(const Offer& offer) {
  const Terms& terms = offer.terms;
  if (terms.form == ShareForm::kWhole) return;
  if (terms.demanded && terms.rung != *terms.demanded) return;  // a note says why none is
  const std::string unit =
      terms.form == ShareForm::kMemory ? unit_text(terms.unit_bytes) : std::string("-");
  const std::string rung(word(terms.rung));
  if (!said_.changed("terms " + offer.name.text, unit + " " + rung)) return;
  log_.info("shares are offered", {{"resource", offer.name.text},
                                   {"share", std::string(word(terms.form))},
                                   {"unit", unit},
                                   {"enforcement", rung}});
}

void Announcements::tell_grant(const HostGrant& grant, const Inventory& here) {
  const std::string what = told(grant);
  const std::string gpus = std::to_string(here.gpus.size());
  if (!said_.changed("grant", what + " " + gpus)) return;
  log_.info("granted by the host", {{"devices", what}, {"gpus", gpus}, {"source", grant.source}});
}

void Announcements::say(const std::string& about, const std::string& text) {
  if (said_.changed(about, text) && !text.empty()) log_.warning(text);
}

}  // namespace tranche
