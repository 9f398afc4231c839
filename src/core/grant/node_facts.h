// SPDX-License-Identifier: Apache-2.0
//
// What a grant must know of the node beside the devices themselves. Gathered
// at the edge, so that granting is a function of values.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sharing/catalog.h"

namespace tranche {

// How a container on one device reaches the MPS daemon of that device.
struct MpsWiring {
  struct Mount {
    std::string container_path;
    std::string host_path;
    bool read_only = true;
    bool operator==(const Mount&) const = default;
  };

  std::string pipe_directory;  // in the container: CUDA_MPS_PIPE_DIRECTORY
  std::vector<Mount> mounts;
  // What a client calls the device: "0=20480M". Empty: not known, as where a
  // daemon has several or is somebody else's; then limits name it by its uuid.
  std::optional<unsigned> ordinal = 0;
  // The daemon holds every client to the same limits by itself, as NVIDIA's
  // does, and containers are told none.
  bool limits_are_the_daemons = false;
  // Why no container may be sent there now; empty: the daemon answers.
  std::string problem;

  bool operator==(const MpsWiring&) const = default;
};

struct NodeFacts {
  // Of /dev/nvidiactl and its like, those that are there. As the container
  // will see them.
  std::vector<std::string> control_nodes;
  std::vector<unsigned> imex_channels;  // asked for and there

  // Names that CDI specifications on disk resolve, by class: "gpu" to uuids
  // or indexes, "gds" to "all". A class that is not here has no specification.
  std::map<std::string, std::set<std::string>> cdi;
  std::string cdi_problem;  // why specifications are not current; empty: they are

  std::string driver_version;  // "580.105.08"; empty: not known
  // All that the node has, for those who are told of all (nested clusters).
  std::vector<OfferedDevice> devices;
  std::set<std::string> excluded;  // uuids of GPUs that the configuration keeps back

  std::map<std::string, MpsWiring> mps;  // by the device's uuid
  // The driver can hold a cgroup to a limit of memory (r615 and newer).
  bool driver_limits_memory = false;

  bool operator==(const NodeFacts&) const = default;
};

}  // namespace tranche
