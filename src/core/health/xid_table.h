// SPDX-License-Identifier: Apache-2.0
//
// What is known of each XID: what it means in a few words, and what must be
// seen before a GPU that had it is healthy again. From NVIDIA's catalogue.
#pragma once

#include <string_view>
#include <vector>

#include "inventory/fault.h"

namespace tranche {

struct XidFacts {
  unsigned first = 0;
  unsigned last = 0;  // of a run of numbers with the same meaning
  std::string_view meaning;
  Clearance clearance = Clearance::kProbe;
  // The work on one MIG device can bring it about and is all that it hits.
  bool one_slice = false;
};

const std::vector<XidFacts>& xid_table();

// A number that the table does not know takes the driver's word to clear.
XidFacts xid_facts(unsigned xid);

}  // namespace tranche
