// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/observe.h"

#include <string>
#include <vector>

#include "base/path.h"
#include "node/cdi/find_driver_files.h"
#include "node/driver/kernel_files.h"
#include "os/files.h"

namespace tranche::programs {
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

ObservedGrant grant_of(const HostGrantReader& reader) {
  const HostGrant* grant = reader.grant();
  return {grant != nullptr ? std::optional(*grant) : std::nullopt, reader.problem()};
}

}  // namespace

Observed Observer::look(const Settings& settings) {
  const std::vector<std::string> roots = dev_roots(settings);
  Observed seen{.inventory = *sources_.inventory.get().value,
                .control_nodes = control_nodes(roots.front()),
                .imex_channels = imex_channels(settings.grant.imex_channels, roots),
                .mps = {.no_programs = sources_.mps.no_programs(), .report = sources_.mps.report()},
                .handed_off = sources_.handed_off.grants(),
                .ledger = sources_.ledger.ledger(),
                .no_ledger = sources_.ledger.problem(),
                .units = sources_.units.kept(),
                .machine = machine_.look(settings.features, settings.host_root)};
  if (sources_.host_grant) seen.guest = grant_of(*sources_.host_grant);
  if (settings.grant.list.any_cdi()) {
    seen.cdi =
        ObservedCdi{.files = find_driver_files(seen.inventory, settings.cdi, settings.host_root)};
    seen.cdi->files.toolkit = toolkit_.look(settings.cdi, settings.host_root);
  }
  return seen;
}

}  // namespace tranche::programs
