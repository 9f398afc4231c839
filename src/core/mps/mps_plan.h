// SPDX-License-Identifier: Apache-2.0
//
// Which MPS daemons the node needs, and how containers reach those that are
// not ours. Pure: the same catalog, options and holdings give the same plan.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grant/node_facts.h"
#include "mps/options.h"
#include "sharing/catalog.h"

namespace tranche {

// Of the devices, by ordinal; empty: none.
using MemoryLimits = std::vector<std::optional<std::uint64_t>>;

// A control daemon of ours.
struct MpsDaemonPlan {
  std::string name;    // of its folder: the device's uuid, or "node"
  std::string folder;  // <directory>/<name>
  // What it serves. The place in the list is the ordinal that the daemon calls the
  // device by; a client counts those that it sees.
  std::vector<std::string> devices;
  // The most that a client without a limit of its own may take of each device;
  // empty where the device's size is not known.
  MemoryLimits limits;
  // What servers give a client that asks for nothing less; empty: everything.
  std::string thread_percentage;
  // Nobody but the daemon may use the devices.
  bool exclusive = false;
  // Containers get a /dev/shm that is the daemon's too.
  bool shared_memory = false;
  // Containers mount the pipe folder itself: it stays when the daemon goes.
  bool keep_pipe = false;

  std::string pipe() const { return folder + "/pipe"; }
  // What containers mount: only the socket that clients need.
  std::string client_view() const { return folder + "/client"; }
  std::string log() const { return folder + "/log"; }
  std::string shm() const { return folder + "/shm"; }
  bool operator==(const MpsDaemonPlan&) const = default;
};

// Daemons that somebody else runs.
struct MpsElsewhere {
  MpsWiring wiring;
  // Files of which one must be there before a container is sent; empty: it is
  // not for us to ask.
  std::vector<std::string> ready_when;

  bool operator==(const MpsElsewhere&) const = default;
};

struct MpsPlan {
  // Where daemons of ours live, now or before others took over; what lies there and
  // is not wanted is an earlier agent's, and goes. Empty: nothing there is ours.
  std::string directory;
  std::vector<MpsDaemonPlan> daemons;             // by name
  std::map<std::string, MpsElsewhere> elsewhere;  // by the device's uuid
  std::map<std::string, std::string> refused;     // uuid to why no daemon can serve it

  bool operator==(const MpsPlan&) const = default;
};

// Whether a resource's containers go through MPS.
bool uses_mps(const Terms& terms);

// Bytes of each device's largest share that is held, by uuid. A device that is
// not in it has no holder.
using LargestHeld = std::map<std::string, std::uint64_t>;

// `nvidia_root_here` is where --mps-root is mounted for us.
MpsPlan plan_mps(const Catalog& catalog, const MpsOptions& options, const LargestHeld& held,
                 const std::string& nvidia_root_here = "/mps");

// How containers reach a daemon of ours, device by device; `problem` says why
// they may not.
std::map<std::string, MpsWiring> wirings_of(const MpsDaemonPlan& daemon,
                                            const std::string& problem);

}  // namespace tranche
