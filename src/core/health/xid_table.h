// SPDX-License-Identifier: Apache-2.0
//
// The XID table, from NVIDIA's catalogue: the meaning of each XID in a few words, and the
// evidence that clears it.
#pragma once

#include <string_view>
#include <vector>

#include "core/health/fault.h"

namespace tranche::core {

struct XidFacts {
  unsigned first = 0;
  unsigned last = 0;  // of a run of numbers with the same meaning
  std::string_view meaning;
  Clearance clearance = Clearance::kProbe;
  // Work on one MIG device can cause it, and it affects only that MIG device.
  bool one_slice = false;
  // The driver branch from which on the recovery action changes with it (the catalogue's
  // linkage to XID 154); 0: it never does, or it is not known.
  unsigned action_since = 0;
};

const std::vector<XidFacts>& xid_table();

// A number that is not in the table needs a reset to clear, because no other evidence is
// known for it.
XidFacts xid_facts(unsigned xid);

// Whether this driver's recovery action covers it. "": the version is not known.
bool action_tells(const XidFacts& facts, std::string_view driver_version);

}  // namespace tranche::core
