// SPDX-License-Identifier: Apache-2.0
//
// The sizes that shares were granted with, in a file that outlives us: a container
// keeps its size over a restart with another configuration. The kubelet remembers
// only which ids a container has.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "node/holders/ledger_book.h"
#include "os/log.h"

namespace tranche::node {

std::string to_text(const LedgerSizes& sizes);
Result<LedgerSizes> parse_sizes(std::string_view text);

class SizeMemory {
 public:
  // Reads what an earlier agent wrote. What cannot be read is logged and left out.
  SizeMemory(std::string path, const Log& log);

  const LedgerSizes& recalled() const { return recalled_; }

  // One call at a time.
  Status keep(const LedgerSizes& sizes);

 private:
  const std::string path_;
  const Log& log_;
  const LedgerSizes recalled_;
  OnChange said_;
};

}  // namespace tranche::node
