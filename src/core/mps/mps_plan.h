// SPDX-License-Identifier: Apache-2.0
//
// The MPS daemons that the node needs, and how containers reach external ones. Pure: the same
// catalog, options and holdings give the same plan.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/grant/node_facts.h"
#include "core/settings/mps_options.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// By the device's ordinal; empty: no limit.
using MemoryLimits = std::vector<std::optional<std::uint64_t>>;

// A control daemon of ours.
struct MpsDaemonPlan {
  std::string name;    // of its folder: the device's uuid, or "node"
  std::string folder;  // <directory>/<name>
  // The devices it serves. The position in the list is the daemon's ordinal of the device;
  // a client numbers the devices that it sees.
  std::vector<std::string> devices;
  // The default memory limit of each device, for clients without their own; empty where the
  // device's size is not known.
  MemoryLimits limits;
  // The default thread percentage of clients; empty: everything.
  std::string thread_percentage;
  // Only the daemon may use the devices.
  bool exclusive = false;
  // Containers get a /dev/shm that is the daemon's too, of this size.
  bool shared_memory = false;
  std::uint64_t shared_memory_bytes = kSharedMemoryBytes;
  // It is known that no container holds a share of its devices.
  bool unheld = false;
  // Containers mount the pipe folder itself: it stays when the daemon goes.
  bool keep_pipe = false;

  std::string pipe() const { return folder + "/pipe"; }
  // What containers mount: only the socket that clients need.
  std::string client_view() const { return folder + "/client"; }
  std::string log() const { return folder + "/log"; }
  std::string shm() const { return folder + "/shm"; }
  bool operator==(const MpsDaemonPlan&) const = default;
};

// External daemons.
struct ExternalMps {
  // Where we see the pipe folder: below a folder that exists if it is mounted for us.
  struct View {
    std::string given_by;
    std::string pipe;
    bool operator==(const View&) const = default;
  };

  MpsWiring wiring;
  std::vector<View> views;
  std::string pipe;  // on the host
  // One of these files must exist before a container may use the daemon; empty: not
  // checked.
  std::vector<std::string> ready_when;
  std::string nvidia_root;  // --mps-root, on the host; empty: not NVIDIA's daemon

  bool operator==(const ExternalMps&) const = default;
};

struct MpsPlan {
  // The folder of our own daemons, also after a switch to external ones. Daemons there that
  // are not wanted are an earlier agent's and are removed. Empty: nothing there is ours.
  std::string directory;
  std::vector<MpsDaemonPlan> daemons;           // by name
  std::map<std::string, ExternalMps> external;  // by the device's uuid
  std::map<std::string, std::string> refused;   // uuid to why no daemon can serve it
  MpsRules rules;

  bool operator==(const MpsPlan&) const = default;
};

// Whether a resource's containers go through MPS.
bool uses_mps(const Terms& terms);

// Bytes of each device's largest allocated share, by uuid. A device that is missing has no
// holder.
using LargestHeld = std::map<std::string, std::uint64_t>;

// `nvidia_root_here` is where --mps-root is mounted for us.
MpsPlan plan_mps(const Catalog& catalog, const MpsOptions& options, const LargestHeld& held,
                 const std::string& nvidia_root_here = "/mps");

// How containers reach one of our daemons, by device; `problem` says why they may not.
std::map<std::string, MpsWiring> wirings_of(const MpsDaemonPlan& daemon,
                                            const std::string& problem);

}  // namespace tranche::core
