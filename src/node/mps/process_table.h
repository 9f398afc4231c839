// SPDX-License-Identifier: Apache-2.0
//
// Reads processes from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/mps/process_facts.h"

namespace tranche::node {

// The descriptor that a thread waits to read or write, from /proc/PID/task/TID/syscall.
std::optional<int> waiting_descriptor(std::string_view text);
bool waits_to_write(std::string_view text);

// Empty: no such process, or /proc does not show it.
std::optional<ProcessFacts> facts_of(pid_t pid);
std::vector<pid_t> processes_shown();
// Whether /proc shows the descriptors of the process.
bool shows_descriptors(pid_t pid);
// The inode of its network namespace; 0: unknown.
std::uint64_t network_of(pid_t pid);
// The given sockets that the process has. Checks only the first descriptors of a process with very
// many, because the search is frequent; a missed owner counts as unseen.
std::set<std::uint32_t> sockets_among(pid_t pid, const std::set<std::uint32_t>& inodes);
// Its sockets, by descriptor.
std::map<int, std::uint32_t> sockets_of(pid_t pid);
// Descriptors that its threads wait for, and whether to write. Empty: /proc does not show it.
std::optional<std::map<int, bool>> descriptors_waited_for(pid_t pid);

}  // namespace tranche::node
