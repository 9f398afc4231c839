// SPDX-License-Identifier: Apache-2.0
//
// Logs what is wanted: each thing when it changes, and not each time that it is planned.
//
// The main thread's.
#pragma once

#include <set>
#include <string>

#include "core/nested/host_grant.h"
#include "core/plan/plan.h"
#include "os/log.h"

namespace tranche::programs {

class Announcements {
 public:
  explicit Announcements(Log& log) : log_(log) {}

  void log_wanted(const Wanted& wanted);
  // As a guest: what the host granted, and how much of it is here.
  void log_grant(const HostGrant& grant, const Inventory& here);

  // A warning, once for each text in a row; empty: what it was about is over.
  void say(const std::string& about, const std::string& text);

 private:
  void log_catalog(const Catalog& catalog);
  void log_terms(const Offer& offer);
  void log_toolkit(const std::string& version);

  Log& log_;
  OnChange said_;
  std::set<std::string> standing_;  // warnings that the last catalog had
};

}  // namespace tranche::programs
