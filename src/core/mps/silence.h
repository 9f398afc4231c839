// SPDX-License-Identifier: Apache-2.0
//
// What to do with a control daemon that does not answer. It serves one connection at a
// time. A process that connects to its socket, which any user of a container can, and sends
// nothing blocks all other commands, while the clients that are attached to its server
// continue to compute. Stopping the daemon would end them all. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/mps/process_facts.h"

namespace tranche::core {

// A connection of another process that the daemon waits for.
struct HeldConnection {
  std::uint32_t inode = 0;            // of the daemon's end
  std::uint32_t peer = 0;             // of the other
  std::vector<ProcessFacts> holders;  // that have the other end; empty: none is seen
  unsigned connected_uid = 0;         // of the process that connected
  bool is_unread = false;             // the daemon waits to write to it, else to read from it

  bool operator==(const HeldConnection&) const = default;
};

// "process 7 (sh, uid 0) holds a connection …": why the daemon answers no one else.
std::string describe(const HeldConnection& held);

// The state of a daemon that runs but does not answer, or does not serve our client.
struct Silence {
  std::optional<HeldConnection> held;
  bool is_stopped = false;  // the daemon, by a signal or a debugger
  bool has_server = false;  // one of its servers lives
  // Attached to that. Empty: it cannot be seen, as on kernels before 5.6.
  std::optional<unsigned> clients = 0;
};

// Whether the daemon was blocked while our client waited: another connection was seen at
// two checks in a row. It need not be the same one, because many connections in turn block
// others as well as one does, while a connection that is just being served is gone by the
// next check.
class HeldThroughout {
 public:
  void observe(std::optional<HeldConnection> now) {
    if (now && before_) held_ = now;
    before_ = std::move(now);
  }
  // The latest of those.
  const std::optional<HeldConnection>& held() const { return held_; }

 private:
  std::optional<HeldConnection> before_;
  std::optional<HeldConnection> held_;
};

// Whether to restart the daemon: never while clients compute, or may compute, through it,
// and not where closing a connection is enough.
bool should_restart(const Silence& silence);

// Why the device is unhealthy meanwhile. `question` is the error of the command.
std::string describe(const Silence& silence, const std::string& question);

// "process 7 (sh, uid 0)", or who connected where no holder is seen.
std::string holders_text(const HeldConnection& held);

// What to close or kill, depending on how long the daemon was blocked. The connection comes
// first, because closing it harms no one else and does not need the holder to be found.
// Processes are killed only in pods, and never our own. Time is counted between two checks
// in a row that both saw the same connection, the same pod or, outside of pods, connections
// of the same user, so a process gains nothing by connecting again or taking turns.
class HoldingTime {
 public:
  using Clock = std::chrono::steady_clock;
  using Ms = std::chrono::milliseconds;

  HoldingTime(Ms patience, std::string own_pod) : patience_(patience), own_(std::move(own_pod)) {}

  struct Due {
    bool connection = false;            // its time is up
    std::vector<ProcessFacts> holders;  // those whose pod's time is up
    // Those whose pod connected again after its connections were closed.
    std::vector<ProcessFacts> persistent;
  };
  // What was seen now.
  Due observe(const std::optional<HeldConnection>& held, Clock::time_point now);
  // The connection was closed without killing its holders.
  void note_ended(const HeldConnection& held);

 private:
  struct Account {
    Ms held{0};
    Clock::time_point seen;
    int ended = 0;  // connections
  };

  bool is_endable(const ProcessFacts& holder) const {
    return !holder.pod.empty() && holder.pod != own_;
  }
  // To which connection, pod or user its time counts.
  std::vector<std::string> accounts_of(const HeldConnection& held) const;

  Ms patience_;
  std::string own_;
  std::map<std::string, Account> accounts_;
  std::optional<Clock::time_point> last_;  // the last look
};

}  // namespace tranche::core
