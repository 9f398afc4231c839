// SPDX-License-Identifier: Apache-2.0
//
// MPS daemons that another program runs: whether one is there, and whether containers may have its
// pipe folder. Any user may have made that folder, and the daemon serves one connection at a time.
// So the folder is checked, and connected to only briefly and rarely.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "core/grant/node_facts.h"
#include "core/mps/mps_plan.h"
#include "os/file_identity.h"

namespace tranche::node {

enum class Presence { kThere, kAbsent, kUnknown };

struct PipeFound {
  Presence presence = Presence::kUnknown;
  std::string reason;   // why it is absent or unknown
  std::string caution;  // a risk, although it is there

  bool operator==(const PipeFound&) const = default;
};

// Interprets a connection attempt; `error` is its errno, 0: success. Pure.
PipeFound judge_connect(int error, const std::string& pipe);

// Adds the result to how containers reach the daemon. Pure.
MpsWiring wiring_with(MpsWiring wiring, const PipeFound& found);

// Used by one thread.
class OutsideWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `is_host`: our paths are the host's own, so a missing file is really missing. Else `host_root`
  // leads to the host's, if the agent sees the host's processes.
  explicit OutsideWatch(bool is_host, std::string host_root = "/proc/1/root")
      : is_host_(is_host), host_root_(std::move(host_root)) {}

  MpsWiring look(const ExternalMps& elsewhere, Clock::time_point now);

 private:
  // The socket that was connected to last, and what came of it.
  struct Tried {
    FileIdentity folder;
    FileIdentity socket;
    Clock::time_point at;
    PipeFound found;
  };

  PipeFound look_at_pipe(const std::string& pipe, Clock::time_point now);
  PipeFound with_way_on_host(PipeFound found, const std::string& here,
                             const std::string& on_host) const;
  PipeFound connect_now_and_then(int folder, const std::string& pipe, Clock::time_point now);

  const bool is_host_;
  const std::string host_root_;
  std::map<std::string, Tried> tried_;  // by the pipe folder
};

// Whether we run outside of a container, as far as that can be seen.
bool has_paths_of_host();

}  // namespace tranche::node
