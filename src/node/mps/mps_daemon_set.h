// SPDX-License-Identifier: Apache-2.0
//
// The node's MPS daemons: takes the plan, reports how containers reach them. Has no supervisor, and
// no thread, on a node that never used MPS.
//
// One thread uses it; callbacks come from any thread.
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
  // Calls `changed` from any thread after each new report.
  MpsDaemonSet(const std::string& driver_root, ComputeModeDriver modes,
               std::function<void()> changed, const Log& log);

  // Why no daemon can be started; empty: the driver's programs exist.
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
