// SPDX-License-Identifier: Apache-2.0
//
// The node's MPS daemons: the plan goes in, how containers reach them comes out. There is no
// supervisor, and no thread, where nothing uses MPS or ever did.
//
// One thread's, but for what it calls back.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/mps/mps_plan.h"
#include "core/mps/mps_report.h"
#include "node/mps/driver_programs.h"
#include "node/mps/exclusive_mode.h"
#include "node/mps/supervisor.h"
#include "os/log.h"

namespace tranche::node {

class MpsDaemonSet {
 public:
  // `changed`, from any thread: there is a new report.
  MpsDaemonSet(const std::string& driver_root, ComputeModeDriver modes,
               std::function<void()> changed, const Log& log);

  // Why no daemon can be started; empty: the driver's programs are there.
  std::string no_programs() const;

  void apply(MpsPlan plan);
  MpsReport report() const;

 private:
  MpsPlaces places_;
  const ComputeModeDriver modes_;
  const std::function<void()> changed_;
  const Log& log_;
  std::unique_ptr<MpsSupervisor> supervisor_;
};

}  // namespace tranche::node
