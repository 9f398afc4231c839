// SPDX-License-Identifier: Apache-2.0
//
// When files of node pods may go: as a host, once the kubelet's checkpoint has no mount of
// them any more.
//
// One thread's.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "node/nested/handed_off.h"
#include "os/file_identity.h"
#include "os/log.h"

namespace tranche::node {

class HandedOffTidy {
 public:
  // Recalls what an earlier agent handed off.
  HandedOffTidy(HandedOff& handed_off, std::string checkpoint, Log& log);

  // Removes the files of pods that have ended.
  void run();
  // By then run() is due; empty: nothing waits.
  std::optional<std::chrono::milliseconds> due() const;

 private:
  HandedOff& handed_off_;
  const std::string checkpoint_;
  Log& log_;
  std::optional<FileIdentity> checkpoint_read_;
  std::optional<std::set<std::string>> mounted_;  // as the checkpoint last had it
  bool is_waiting_ = false;
  bool has_writable_ = false;  // files of node pods, by earlier agents
  OnChange said_;
};

}  // namespace tranche::node
