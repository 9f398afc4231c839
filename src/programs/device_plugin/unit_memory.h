// SPDX-License-Identifier: Apache-2.0
//
// The units of memory that `auto` has chosen, in a file that outlives us. What
// cannot be read or written is told, and costs no more than that.
#pragma once

#include <string>

#include "core/sharing/memory_unit.h"
#include "os/log.h"

namespace tranche::programs {

class UnitMemory {
 public:
  // Reads what an earlier agent has chosen.
  UnitMemory(std::string path, const Log& log);

  const KeptUnits& kept() const { return kept_; }

  // Writes what is new, and says which units have grown.
  void keep(KeptUnits now);

 private:
  const std::string path_;
  const Log& log_;
  KeptUnits kept_;
};

}  // namespace tranche::programs
