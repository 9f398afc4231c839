// SPDX-License-Identifier: Apache-2.0
//
// The /dev/shm that a daemon shares with its containers, as old drivers need it: one tmpfs per
// daemon with a size limit, nosuid, nodev and noexec. Containers get it only while both we and the
// host see that tmpfs: the folder beneath has no limits and is never given to a container.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::node {

// One line of a mount table (/proc/…/mountinfo).
struct MountLine {
  std::string device;  // "0:39"
  std::string root;    // of the mount, in its file system
  std::string point;
  bool is_shared = false;  // mounts below it propagate
  std::string type;

  bool operator==(const MountLine&) const = default;
};
std::vector<MountLine> parse_mountinfo(std::string_view text);

// State of the folder.
struct SharedMemoryFound {
  std::optional<MountLine> here;  // topmost mount at the folder in our table
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  bool is_bound = false;  // nosuid, nodev and noexec
  // Whether the host has the same mount; empty: its table cannot be read.
  std::optional<bool> on_host;

  bool operator==(const SharedMemoryFound&) const = default;
};

// Why no container may have it; empty: it is as wanted. Pure.
std::string shared_memory_problem(const SharedMemoryFound& found, std::uint64_t bytes);
// Whether it can be kept: it is as we mount it, whether or not the host sees it. Pure.
bool is_as_mounted(const SharedMemoryFound& found, std::uint64_t bytes);
// "size=65536k,nr_inodes=16384,mode=1777"
std::string shared_memory_options(std::uint64_t bytes);

// Mounts it at the existing `folder`. Keeps an earlier agent's mount if it is the same, else
// replaces it. `host_mounts` is the host's mount table.
Status mount_shared_memory(const std::string& folder, std::uint64_t bytes,
                           const std::string& host_mounts);
// Error: containers may not have it now.
Status check_shared_memory(const std::string& folder, std::uint64_t bytes,
                           const std::string& host_mounts);
// Unmounts everything there. Containers that have it keep it until they end.
Status unmount_shared_memory(const std::string& folder);

// Whether the process has it as its /dev/shm.
bool has_shared_memory(pid_t process, const std::string& folder);

// Removes unused files: last changed before `until`, and neither open nor mapped in any of the
// processes (the daemon and its servers). Error: some could not be removed. False: some were
// changed since `until`; look again later.
Result<bool> empty_shared_memory(const std::string& folder, const std::vector<pid_t>& processes,
                                 std::chrono::system_clock::time_point until);

}  // namespace tranche::node
