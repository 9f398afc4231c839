// SPDX-License-Identifier: Apache-2.0
//
// How containers reach MPS, where a resource is held to its share by it.
#pragma once

#include <chrono>
#include <string>

namespace tranche {

// Who runs the control daemons.
enum class MpsDaemons {
  kOutside,  // somebody else; containers get the pipe directory as it is (--mps-pipe)
  kPerGpu,   // we, one a GPU: one fault takes one GPU
  kPerNode,  // we, one for the node: containers may have several GPUs
  kNvidia,   // NVIDIA's mps-control-daemon, in the layout of --mps-root
};

struct MpsOptions {
  MpsDaemons daemons = MpsDaemons::kPerGpu;
  // kOutside: the pipe directory, on the host and in containers alike.
  std::string pipe;
  // kPerGpu, kPerNode: where ours keep their pipes and logs. The same path for
  // us as on the host.
  std::string directory = "/run/tranche/mps";
  // kNvidia: --mps-root, on the host.
  std::string nvidia_root;
  // Containers get a /dev/shm that the daemon shares, as old drivers need it.
  bool shared_memory = false;

  bool operator==(const MpsOptions&) const = default;
};

}  // namespace tranche
