// SPDX-License-Identifier: Apache-2.0
//
// Carries out `release` and `resume`, and waits for the outcome.
//
// Thread-safe: called from the control socket's threads.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "node/driver/kernel_files.h"
#include "node/driver/scanner.h"
#include "os/latest.h"
#include "os/log.h"
#include "programs/device_plugin/node_status.h"
#include "programs/device_plugin/release.h"

namespace tranche::programs {

using LatestStatus = Latest<std::shared_ptr<const NodeStatus>>;

class ReleaseCommand {
 public:
  struct Sources {
    const Latest<Inventory>& inventory;  // all that the driver has
    const LatestStatus& status;
    std::function<void()> ask_kubelet_soon;
  };
  ReleaseCommand(Scanner& scanner, const Settings& settings, Sources sources, Log& log)
      : scanner_(scanner),
        host_(settings.host_root),
        patience_(release_patience(settings.driver.call_patience)),
        sources_(std::move(sources)),
        log_(log) {}

  // Each gives the answer for the person who asked.
  Result<std::string> release(const std::vector<std::string>& words);
  Result<std::string> resume();

  // Lets no call wait any more, for good.
  void end();

 private:
  void wait_for_ended_pods(ReleaseReport& report);

  Scanner& scanner_;
  const KernelFiles host_;
  const std::chrono::milliseconds patience_;
  const Sources sources_;
  Log& log_;
  std::atomic<bool> is_ending_ = false;
};

}  // namespace tranche::programs
