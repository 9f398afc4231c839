// SPDX-License-Identifier: Apache-2.0
//
// The file in the state folder that keeps open faults over a restart. One thread
// uses a FaultMemoryFile.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/health/node_state.h"
#include "os/log.h"

namespace tranche::node {

class FaultMemoryFile {
 public:
  FaultMemoryFile(std::string path, const Log& log) : path_(std::move(path)), log_(log) {}

  // The faults of earlier runs. Empty if there is no file; also if it cannot be parsed, which is
  // logged.
  std::optional<NodeState> recall();

  // Writes the file if the state changed. Counters that only grew are not worth a write.
  void remember(const NodeState& state);

 private:
  const std::string path_;
  const Log& log_;
  OnChange logged_;
  std::string written_;      // the file's text
  NodeState written_state_;  // what it was made from
};

}  // namespace tranche::node
