// SPDX-License-Identifier: Apache-2.0
//
// The sizes that shares were granted and offered with.
#pragma once

#include "core/ledger/records.h"

namespace tranche::core {

// The sizes of shares, for the file that survives a restart.
struct LedgerSizes {
  GrantedSizes granted;
  OfferedSizes offered;
  OfferedSizes offered_before;

  bool operator==(const LedgerSizes&) const = default;
};

}  // namespace tranche::core
