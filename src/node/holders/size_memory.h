// SPDX-License-Identifier: Apache-2.0
//
// The sizes that shares were granted with, in a file: a container keeps its size over a restart
// with another configuration. The kubelet records only the ids of a container.
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
  // Reads the file of an earlier agent. A file that cannot be read is logged and ignored.
  SizeMemory(std::string path, const Log& log);

  const LedgerSizes& recalled() const { return recalled_; }

  // One call at a time.
  Status keep(const LedgerSizes& sizes);

 private:
  const std::string path_;
  const Log& log_;
  const LedgerSizes recalled_;
  OnChange logged_;
};

}  // namespace tranche::node
