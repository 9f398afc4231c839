// SPDX-License-Identifier: Apache-2.0
//
// Facts from /proc about a process: its user, its pod, and what it waits for. The values and
// their parsers; process_table.h reads /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::core {

struct ProcessFacts {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start = 0;   // clock ticks since boot; with the pid, one process and no other
  unsigned uid = 0;          // effective, as the agent's user namespace has it
  bool may_be_root = false;  // one of its uids is 0 there
  bool is_dead = false;      // a zombie
  bool is_stopped = false;   // by a signal or a debugger
  std::string command;       // its name
  std::string pod;           // UID of its pod; empty: it is in none
  std::string container;     // id of its container

  bool operator==(const ProcessFacts&) const = default;
};

// "process 4711 (python3, uid 1000, pod 0f…, container 1a2b3c4d5e6f)"
std::string describe(const ProcessFacts& process);

// Parses /proc/PID/status; missing values stay as they are.
void take_status(std::string_view text, ProcessFacts& facts);
// Parses /proc/PID/cgroup of either version: the outermost pod.
void take_cgroup(std::string_view text, ProcessFacts& facts);
// The start time in /proc/PID/stat; 0: it has none.
std::uint64_t start_time(std::string_view stat);
// 17906 for "socket:[17906]".
std::optional<std::uint32_t> socket_inode(std::string_view link);

}  // namespace tranche::core
