// SPDX-License-Identifier: Apache-2.0
//
// What a running process uses, as the kernel tells it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::bench {

struct MemoryFigures {
  std::uint64_t resident_kib = 0;
  std::uint64_t peak_kib = 0;       // the most there ever was
  std::uint64_t anonymous_kib = 0;  // of what is resident: not pages of files
  // Of what is resident: the simulated driver's library.
  std::uint64_t driver_kib = 0;

  bool operator==(const MemoryFigures&) const = default;
};

struct ActivityFigures {
  std::chrono::nanoseconds cpu{};  // user and system, of all threads there were
  // Of that: in calls of the driver, which have a thread to themselves.
  std::chrono::nanoseconds driver_cpu{};
  // Times that each thread went to sleep by itself: once for each time it woke.
  std::map<std::string, std::uint64_t> sleeps;
  std::uint64_t threads = 0;
};

Result<MemoryFigures> memory_of(pid_t pid);
Result<ActivityFigures> activity_of(pid_t pid);
// How often threads woke in between. One that has ended meanwhile is not counted: its count is
// gone with it.
std::uint64_t sleeps_between(const ActivityFigures& before, const ActivityFigures& after);

// The parts that understand the kernel's texts. Pure.
//
// "VmRSS:     8124 kB" gives 8124; 0 where the key is not there.
std::uint64_t status_value(std::string_view status, std::string_view key);
// "123456 789 12" gives 123456: what a thread has run, in nanoseconds.
std::uint64_t first_number(std::string_view text);
// The sum of Rss of mappings whose file name has `name` in it.
std::uint64_t resident_of_mapping(std::string_view smaps, std::string_view name);

// What a file would take once stripped: what its program headers load, in bytes.
Result<std::uint64_t> loaded_bytes(const std::string& program);

}  // namespace tranche::bench
