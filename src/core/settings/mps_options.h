// SPDX-License-Identifier: Apache-2.0
//
// How containers reach MPS, for resources that MPS enforces.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tranche::core {

// The owner of the control daemons.
enum class MpsDaemons {
  kOutside,  // external; containers get the pipe directory as it is (--mps-pipe)
  kPerGpu,   // ours, one per GPU: a fault affects one GPU
  kPerNode,  // ours, one for the node: containers may have several GPUs
  kNvidia,   // NVIDIA's mps-control-daemon, in the layout of --mps-root
};

// The default size of a container's own /dev/shm.
inline constexpr std::uint64_t kSharedMemoryBytes = 64ULL << 20U;

// Which users may be MPS clients. Root can raise limits and end other clients through the
// daemon's socket, so limits hold for kNonRoot only.
enum class MpsClients { kAny, kNonRoot };

// Settings that may change while daemons run.
struct MpsRules {
  MpsClients clients = MpsClients::kAny;
  // Close connections that block a daemon, and kill a pod's process that connects again.
  bool end_holders = true;

  bool operator==(const MpsRules&) const = default;
};

struct MpsOptions {
  MpsDaemons daemons = MpsDaemons::kPerGpu;
  // kOutside: the pipe directory, on the host and in containers alike.
  std::string pipe;
  // kPerGpu, kPerNode: the folder for pipes and logs of our daemons. The same path for us
  // as on the host.
  std::string directory = "/run/tranche/mps";
  // kNvidia: --mps-root, on the host.
  std::string nvidia_root;
  // Containers share a /dev/shm with the daemon, which old drivers need.
  bool shared_memory = false;
  // Its size, for each daemon and all of its containers together.
  std::uint64_t shared_memory_bytes = kSharedMemoryBytes;
  MpsRules rules;

  bool operator==(const MpsOptions&) const = default;
};

}  // namespace tranche::core
