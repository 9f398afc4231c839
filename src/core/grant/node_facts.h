// SPDX-License-Identifier: Apache-2.0
//
// Facts of the node that a grant depends on, besides the devices. They are gathered by the
// caller, so that granting is a function of values.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/sharing/catalog.h"

namespace tranche::core {

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
  // The device's number for a client: the 0 in "0=20480M". Empty: not known, because the
  // daemon has several devices or is external; then limits name the device by its uuid.
  std::optional<unsigned> ordinal = 0;
  // The daemon itself applies the same limits to all clients, as NVIDIA's does, and
  // containers get none.
  bool limits_are_the_daemons = false;
  // Why no container may use it now; empty: the daemon answers.
  std::string problem;
  // What is unknown or insecure about an external daemon; containers use it nevertheless.
  std::string caution;

  bool operator==(const MpsWiring&) const = default;
};

struct NodeFacts {
  // The control nodes that exist, such as /dev/nvidiactl, as the container will see them.
  std::vector<std::string> control_nodes;
  std::vector<unsigned> imex_channels;  // requested and existing

  // Names that CDI specifications on disk resolve, by class: "gpu" to uuids
  // or indexes, "gds" to "all". A class that is not here has no specification.
  std::map<std::string, std::set<std::string>> cdi;
  std::string cdi_problem;  // why specifications are not current; empty: they are
  // The version of NVIDIA's container toolkit, for people: "1.18.2". Empty where CDI is
  // not used.
  std::string toolkit;
  // Why specifications lack the hook that has the driver limit memory, where containers get
  // their devices by them alone; empty: they have it.
  std::string no_limit_hook;

  std::string driver_version;  // "580.105.08"; empty: not known
  // All devices of the node, for containers that see all of them (nested clusters).
  std::vector<OfferedDevice> devices;
  std::set<std::string> excluded;  // uuids of GPUs that the configuration excludes

  std::map<std::string, MpsWiring> mps;  // by the device's uuid
  // The driver can limit the memory of a cgroup (r615 and newer).
  bool driver_limits_memory = false;

  bool operator==(const NodeFacts&) const = default;
};

}  // namespace tranche::core
