// SPDX-License-Identifier: Apache-2.0
//
// The processes that /proc shows.
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

// The descriptor that a thread waits to read from or to write to, by what
// /proc/PID/task/TID/syscall says.
std::optional<int> waiting_descriptor(std::string_view text);
bool waits_to_write(std::string_view text);

// Empty: there is no such process, or /proc does not show it.
std::optional<ProcessFacts> facts_of(pid_t pid);
std::vector<pid_t> processes_shown();
// Whether /proc lets us see its descriptors.
bool shows_descriptors(pid_t pid);
// Its network namespace, as the inode of that; 0: not known.
std::uint64_t network_of(pid_t pid);
// Those of the sockets that it has. Of a process with very many descriptors only the first
// are looked at: the search is made again and again, and whoever is not found is counted as
// unseen.
std::set<std::uint32_t> sockets_among(pid_t pid, const std::set<std::uint32_t>& inodes);
// Its sockets, by descriptor.
std::map<int, std::uint32_t> sockets_of(pid_t pid);
// The descriptors that its threads wait for, and whether to write; empty where /proc does not
// say.
std::optional<std::map<int, bool>> descriptors_waited_for(pid_t pid);

}  // namespace tranche::node
