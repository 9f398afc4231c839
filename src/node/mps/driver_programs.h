// SPDX-License-Identifier: Apache-2.0
//
// The driver's MPS programs and library, and how they are called. They belong
// to the driver root, which is the host's or a driver container's, and run with
// its loader and its libraries: ours may be older than they need, or of another
// C library.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/mps/mps_plan.h"
#include "os/child_process.h"

namespace tranche::node {

// Where things are, for us.
struct MpsPlaces {
  std::string driver_root = "/";
  // Our own program. It plays `nvidia-cuda-mps-server` and the canary.
  std::string self = "/proc/self/exe";
  // Where NVIDIA's --mps-root is mounted.
  std::string nvidia_root = "/mps";
  // The host's mount table: that of its first process, which we see with the host's
  // processes.
  std::string host_mounts = "/proc/1/mountinfo";

  bool operator==(const MpsPlaces&) const = default;
};

struct DriverPrograms {
  std::string control;  // nvidia-cuda-mps-control
  std::string server;   // nvidia-cuda-mps-server
  std::string loader;   // empty: the programs are called directly
  std::vector<std::string> library_folders;
  std::string libcuda;  // the library's file; empty: the loader may know it
};

// Below the driver root, or else in our own root, where NVIDIA's container
// runtime puts them; kNotFound, with the places, where neither has MPS.
Result<DriverPrograms> find_programs(const MpsPlaces& host);

// The control program, with the driver root's loader where it has one.
std::vector<std::string> control_words(const DriverPrograms& programs);

// The daemon itself. `path_folder` holds our link nvidia-cuda-mps-server, by
// which the daemon starts its servers through launch.h.
Command daemon_command(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                       const MpsPlaces& host, const std::string& path_folder);
// The control program as a client of the daemon.
Command question_command(const DriverPrograms& programs, const std::string& pipe);
// Our own program as a CUDA client; see canary.h.
Command canary_command(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                       const MpsPlaces& host);

// What tells our program, called as nvidia-cuda-mps-server, where the real one is.
inline constexpr const char* kServerVariable = "TRANCHE_MPS_SERVER";
inline constexpr const char* kLoaderVariable = "TRANCHE_MPS_LOADER";
inline constexpr const char* kLibrariesVariable = "TRANCHE_MPS_LIBRARIES";

inline constexpr const char* kControlProgram = "nvidia-cuda-mps-control";
inline constexpr const char* kServerProgram = "nvidia-cuda-mps-server";
// Sub-commands of our program that people are not told of.
inline constexpr const char* kCanaryCommand = "mps-canary";
inline constexpr const char* kSharedMemoryCommand = "mps-with-shm";

}  // namespace tranche::node
