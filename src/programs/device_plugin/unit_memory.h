// SPDX-License-Identifier: Apache-2.0
//
// The units of memory that `auto` has chosen, in a file that outlives us. What
// cannot be read or written is told, and costs no more than that.
#pragma once

#include <string>

#include "base/log.h"
#include "sharing/memory_unit.h"

namespace tranche {

class UnitMemory {
 public:
  // Reads what an earlier agent has chosen.
  UnitMemory(std::string path, const Log& log);

  const KeptUnits& kept() const { return kept_; }

  // This is offered now: writes what is new, and says which units have grown.
  void learn(const SharingPolicy& policy, const Catalog& catalog);

 private:
  const std::string path_;
  const Log& log_;
  KeptUnits kept_;
};

}  // namespace tranche
