// SPDX-License-Identifier: Apache-2.0
//
// The /dev/shm that a daemon shares with its containers, as old drivers need it: a tmpfs
// of its own for each daemon, of a size that is set, without programs, devices or set-uid
// files. Containers are sent there only while it is that tmpfs, for us and for the host:
// the folder beneath it has no bounds, and is never given to anybody.
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
  bool is_shared = false;  // what is mounted below it is seen elsewhere, too
  std::string type;

  bool operator==(const MountLine&) const = default;
};
std::vector<MountLine> parse_mountinfo(std::string_view text);

// What a look at the folder found.
struct SharedMemoryFound {
  std::optional<MountLine> here;  // the uppermost mount at the folder, in our table
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  bool is_bound = false;  // nosuid, nodev and noexec, all of them
  // Whether the host has the same one at the same path; empty: its table cannot be read.
  std::optional<bool> on_host;

  bool operator==(const SharedMemoryFound&) const = default;
};

// Why no container may have it; empty: it is what was asked for. Pure.
std::string shared_memory_problem(const SharedMemoryFound& found, std::uint64_t bytes);
// Whether it can be kept: it is as we mount it, wherever it is seen. Pure.
bool is_as_mounted(const SharedMemoryFound& found, std::uint64_t bytes);
// "size=65536k,nr_inodes=16384,mode=1777"
std::string shared_memory_options(std::uint64_t bytes);

// Mounts it at `folder`, which is there. One that an earlier agent left is kept where it
// is the same, and otherwise replaced. `host_mounts` is the host's mount table.
Status mount_shared_memory(const std::string& folder, std::uint64_t bytes,
                           const std::string& host_mounts);
// An error unless containers may have it now.
Status check_shared_memory(const std::string& folder, std::uint64_t bytes,
                           const std::string& host_mounts);
// Whatever is mounted there. Containers that have it keep it until they end.
Status unmount_shared_memory(const std::string& folder);

// Whether the process has it as its /dev/shm.
bool has_shared_memory(pid_t process, const std::string& folder);

// Removes what nobody uses: everything that was last changed before `until` and that none
// of the processes, the daemon's and its servers', has open or mapped. An error: something of
// that is still there. False: something was changed since `until`, and is to be looked at again.
Result<bool> empty_shared_memory(const std::string& folder, const std::vector<pid_t>& processes,
                                 std::chrono::system_clock::time_point until);

}  // namespace tranche::node
