// SPDX-License-Identifier: Apache-2.0
//
// What the log is told of what is offered: each thing when it comes up, and not
// each time that it is looked at.
//
// The main thread's.
#pragma once

#include <set>
#include <string>

#include "apps/compose.h"
#include "base/log.h"
#include "nested/host_grant.h"

namespace tranche {

class Announcements {
 public:
  explicit Announcements(Log& log) : log_(log) {}

  void tell(const Composition& composition, const std::string& cdi_problem);
  // As a guest: what the host granted, and how much of it is here.
  void tell_grant(const HostGrant& grant, const Inventory& here);

  // A warning, once for each text in a row; empty: what it was about is over.
  void say(const std::string& about, const std::string& text);

 private:
  void tell_catalog(const Catalog& catalog);
  void tell_terms(const Offer& offer);

  Log& log_;
  OnChange said_;
  std::set<std::string> standing_;  // warnings that the last catalog had
};

}  // namespace tranche
