// SPDX-License-Identifier: Apache-2.0
//
// Removes files of node pods once the kubelet's checkpoint has no mount of them any more. One
// thread uses it.
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
  // Reads the grants of earlier agents.
  HandedOffTidy(HandedOff& handed_off, std::string checkpoint, Log& log);

  // Removes the files of pods that have ended.
  void run();
  // Time until run() is due; empty: never.
  std::optional<std::chrono::milliseconds> due() const;

 private:
  HandedOff& handed_off_;
  const std::string checkpoint_;
  Log& log_;
  std::optional<FileIdentity> checkpoint_read_;
  std::optional<std::set<std::string>> mounted_;  // at the last read of the checkpoint
  bool is_waiting_ = false;
  bool has_writable_ = false;  // of earlier agents
  OnChange logged_;
};

}  // namespace tranche::node
