// SPDX-License-Identifier: Apache-2.0
//
// The sizes that shares were granted with, in a file that outlives us: a container
// keeps its size over a restart with another configuration. The kubelet remembers
// only which ids a container has.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "kubelet/ledger_book.h"

namespace tranche {

std::string to_text(const LedgerBook::Sizes& sizes);
Result<LedgerBook::Sizes> parse_sizes(std::string_view text);

class SizeMemory {
 public:
  // Reads what an earlier agent wrote. What cannot be read is logged and left out.
  SizeMemory(std::string path, const Log& log);

  const LedgerBook::Sizes& recalled() const { return written_; }

  // Writes them where they have changed. To be called before what is offered changes,
  // so that a grant never has a size that is not in the file.
  void keep(const LedgerBook::Sizes& sizes);

 private:
  const std::string path_;
  const Log& log_;
  LedgerBook::Sizes written_;
  OnChange said_;
};

}  // namespace tranche
