// SPDX-License-Identifier: Apache-2.0
//
// The control program's commands and answers. Tests compare them with recorded answers of a
// real one in tests/mps/recorded. Pure.
//
// The control program exits with 0 even for an unknown command, and prints limits rounded down to
// GiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::core {

// "set_default_device_pinned_mem_limit 0 20480M", for servers that start later. A device is
// named by its ordinal only. "No limit" removes an earlier one.
std::string set_default_limit(unsigned ordinal, std::optional<std::uint64_t> bytes);
// The same for a server that runs.
std::string set_server_limit(int server, unsigned ordinal, std::uint64_t bytes);
// Fractions are accepted; 0 would be ignored silently.
std::string set_default_percentage(const std::string& percentage);

std::string set_server_percentage(int server, const std::string& percentage);

// Whether the answer fits such a limit. The daemon rounds down, so differences within one
// GiB are not seen.
bool shows_limit(std::string_view answer, std::optional<std::uint64_t> bytes);
bool shows_percentage(std::string_view answer, std::string_view percentage);

// Whether the command changes something or ends a client.
bool changes_something(std::string_view command);
// Such a command in a line of the daemon's log; empty: none.
std::string command_taken(std::string_view line);

// Pids, one per line; lines that are not numbers are ignored.
std::vector<int> parse_pids(std::string_view answer);

// What is wrong with a server that gives this answer; empty: nothing.
std::string server_problem(int server, std::string_view status);

// Lines of a daemon's log that are of interest to people. Lines for each client and each of
// our commands are not.
bool is_worth_logging(std::string_view line);

// CUDA's result for the canary, which is its exit code.
struct CanaryVerdict {
  bool through = false;     // a client is served
  std::string problem;      // why not
  bool no_library = false;  // there is no libcuda
  bool not_ready = false;   // the server needs time
  bool hangs = false;       // no answer; other clients may be the cause
};
// `exit_code` empty: it had to be killed.
CanaryVerdict judge_canary(std::optional<int> exit_code, std::string_view last_words);

// Exit codes of the canary.
inline constexpr int kCanaryThrough = 0;
inline constexpr int kCanaryFailed = 1;
inline constexpr int kCanaryNoLibrary = 2;
inline constexpr int kCanaryFull = 3;      // served, and refused because the daemon is full
inline constexpr int kCanaryNotReady = 4;  // the server recovers and takes no client yet

}  // namespace tranche::core
