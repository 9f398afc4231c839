// SPDX-License-Identifier: Apache-2.0
#include "apps/facts_reader.h"

#include <vector>

#include "base/files.h"
#include "handoff/cdi_plan.h"
#include "handoff/driver_files.h"
#include "host/host_files.h"
#include "sharing/offer.h"

namespace tranche {
namespace {

// Where device nodes may be for us: below the driver root, where that has any,
// or below our own.
std::vector<std::string> dev_roots(const Settings& settings) {
  std::vector<std::string> roots;
  if (path_exists(below(settings.driver.container_root, "/dev/nvidiactl"))) {
    roots.push_back(settings.driver.container_root);
  }
  roots.push_back(settings.host_root);
  return roots;
}

}  // namespace

NodeFacts FactsReader::read(const Inventory& inventory, const Settings& settings) {
  const std::vector<std::string> roots = dev_roots(settings);
  NodeFacts facts{.control_nodes = control_nodes(roots.front()),
                  .imex_channels = imex_channels(settings.grant.imex_channels, roots),
                  .driver_version = inventory.driver_version,
                  .devices = node_devices(inventory),
                  .excluded = excluded_gpus(inventory, settings.sharing),
                  .driver_limits_memory = inventory.limits_memory};
  if (!settings.grant.list.any_cdi()) return facts;

  if (!writer_ || directory_ != settings.cdi.directory) {
    directory_ = settings.cdi.directory;
    writer_.emplace(directory_);
  }
  const DriverFiles files = find_driver_files(inventory, settings.cdi, settings.host_root);
  const CdiState state = writer_->refresh(cdi_plan(inventory, files, settings.cdi, settings.grant));
  facts.cdi = state.devices;
  facts.cdi_problem = state.problem;
  for (const auto& [what, why] : state.left_out) {
    if (!facts.cdi_problem.empty()) facts.cdi_problem += "; ";
    facts.cdi_problem += what + ": " + why;
  }
  return facts;
}

}  // namespace tranche
