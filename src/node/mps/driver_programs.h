// SPDX-License-Identifier: Apache-2.0
//
// The driver's MPS programs and library, and their command lines. They belong to the driver root,
// which is the host's or a driver container's, and run with its loader and libraries: ours may be
// older, or of another C library.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/mps/mps_plan.h"
#include "os/child_process.h"

namespace tranche::node {

// Paths as the agent sees them.
struct MpsPlaces {
  std::string driver_root = "/";
  // Our own program, which is also `nvidia-cuda-mps-server` and the canary (launch.h).
  std::string self = "/proc/self/exe";
  // Mount of NVIDIA's --mps-root.
  std::string nvidia_root = "/mps";
  // The host's mount table: that of its first process, visible with the host's PID namespace.
  std::string host_mounts = "/proc/1/mountinfo";

  bool operator==(const MpsPlaces&) const = default;
};

struct DriverPrograms {
  std::string control;  // nvidia-cuda-mps-control
  std::string server;   // nvidia-cuda-mps-server
  std::string loader;   // empty: the programs are called directly
  std::vector<std::string> library_folders;
  std::string libcuda;  // file of the library; empty: left to the loader
};

// Searches the driver root, then our own root, where NVIDIA's container runtime mounts them.
// kNotFound: neither has MPS; the message has the paths.
Result<DriverPrograms> find_programs(const MpsPlaces& places);

// The control program, with the driver root's loader if it has one.
std::vector<std::string> control_words(const DriverPrograms& programs);

// The daemon itself. `path_folder` has our link nvidia-cuda-mps-server, by which the daemon starts
// its servers through launch.h.
Command daemon_command(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                       const MpsPlaces& places, const std::string& path_folder);
// The control program as a client of the daemon.
Command question_command(const DriverPrograms& programs, const std::string& pipe);
// Our own program as a CUDA client; see canary.h.
Command canary_command(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                       const MpsPlaces& places);

// Variables that tell our program, started as nvidia-cuda-mps-server, where the real one is.
inline constexpr const char* kServerVariable = "TRANCHE_MPS_SERVER";
inline constexpr const char* kLoaderVariable = "TRANCHE_MPS_LOADER";
inline constexpr const char* kLibrariesVariable = "TRANCHE_MPS_LIBRARIES";

inline constexpr const char* kControlProgram = "nvidia-cuda-mps-control";
inline constexpr const char* kServerProgram = "nvidia-cuda-mps-server";
// Sub-commands that are not documented for people.
inline constexpr const char* kCanaryCommand = "mps-canary";
inline constexpr const char* kSharedMemoryCommand = "mps-with-shm";

}  // namespace tranche::node
