// SPDX-License-Identifier: Apache-2.0
//
// The node's MPS daemons for the agent: what the catalog needs of them goes in,
// how containers reach them comes out.
//
// The main thread's, but for what it calls back.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/log.h"
#include "config/settings.h"
#include "grant/enforcement.h"
#include "ledger/ledger.h"
#include "mps/supervisor.h"
#include "nvml/compute_modes.h"
#include "sharing/catalog.h"

namespace tranche {

class MpsDesk {
 public:
  // `changed`, from any thread: there is a new report.
  MpsDesk(const Settings& settings, std::function<void()> changed, const Log& log);

  // What there is of MPS here, added to what holds containers to their shares.
  void add_to(Enforcers& enforcers, const MpsOptions& options, const Inventory& inventory) const;

  // Has the daemons run that the catalog needs. `ledger` null: nobody knows who
  // holds what, and daemons limit nobody below a whole device.
  void serve(const Catalog& catalog, const MpsOptions& options, const Ledger* ledger);

  MpsReport report() const;

 private:
  MpsHost host_;
  const std::function<void()> changed_;
  const Log& log_;
  std::mutex modes_mutex_;
  nvml::ComputeModes modes_;  // guarded by modes_mutex_
  // Only where a resource wants MPS or ever wanted it.
  std::unique_ptr<MpsSupervisor> supervisor_;
};

}  // namespace tranche
