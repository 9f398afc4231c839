// SPDX-License-Identifier: Apache-2.0
//
// MPS daemons that somebody else runs: whether one is there, and whether containers may
// have its pipe folder. Anybody may have made that folder, and the daemon serves one
// connection at a time: it is looked at, and connected to for an instant now and then.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>

#include "base/result.h"
#include "core/grant/node_facts.h"
#include "core/mps/mps_plan.h"

namespace tranche::node {

enum class Presence { kThere, kAbsent, kUnknown };

struct PipeFound {
  Presence presence = Presence::kUnknown;
  std::string reason;   // why it is not there, or not known
  std::string caution;  // what others may do to it, though it is there

  bool operator==(const PipeFound&) const = default;
};

// What an attempt to connect means; `error` is its errno, 0: it got through. Pure.
PipeFound judge_connect(int error, const std::string& pipe);

// How containers reach the daemon, and why they may not. Pure.
MpsWiring wiring_with(MpsWiring wiring, const PipeFound& found);

// Belongs to one thread.
class OutsideWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `is_host`: paths here are the host's own. What is missing is known to be missing then.
  explicit OutsideWatch(bool is_host) : is_host_(is_host) {}

  MpsWiring look(const ExternalMps& elsewhere, Clock::time_point now);

 private:
  // The socket that was connected to last, and what came of it.
  struct Tried {
    ino_t folder = 0;
    ino_t socket = 0;
    Clock::time_point at;
    PipeFound found;
  };

  PipeFound look_at_pipe(const std::string& pipe, Clock::time_point now);
  PipeFound connect_now_and_then(int folder, const std::string& pipe, Clock::time_point now);

  const bool is_host_;
  std::map<std::string, Tried> tried_;  // by the pipe folder
};

// Whether we are in no container, as far as that can be seen.
bool has_paths_of_host();

}  // namespace tranche::node
