// SPDX-License-Identifier: Apache-2.0
//
// Gathers what a grant must know of the node, and keeps the CDI specifications
// on disk in step with it.
//
// Not thread-safe: belongs to the main thread.
#pragma once

#include <optional>
#include <string>

#include "config/settings.h"
#include "gpu/inventory.h"
#include "grant/node_facts.h"
#include "handoff/cdi_writer.h"

namespace tranche {

class FactsReader {
 public:
  NodeFacts read(const Inventory& inventory, const Settings& settings);

 private:
  std::optional<CdiWriter> writer_;
  std::string directory_;
};

}  // namespace tranche
