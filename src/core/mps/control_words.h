// SPDX-License-Identifier: Apache-2.0
//
// The control program's language: what is asked of it, and what its answers
// say. Held to what a real one said in tests/mps/recorded. Pure.
//
// Its client exits with 0 even for a command that it does not know, and prints
// limits rounded down to GiB: an answer is never compared with what was set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche {

// "set_default_device_pinned_mem_limit 0 20480M", for servers that start later.
// A device can be called by its ordinal only. No limit takes an earlier one back.
std::string set_default_limit(unsigned ordinal, std::optional<std::uint64_t> bytes);
// The same for a server that runs.
std::string set_server_limit(int server, unsigned ordinal, std::uint64_t bytes);
// Fractions are taken; 0 would be ignored in silence.
std::string set_default_percentage(const std::string& percentage);

// Pids, one a line; what is not a number is passed over.
std::vector<int> parse_pids(std::string_view answer);

// What is wrong with a server that says this of itself; empty: nothing.
std::string server_problem(int server, std::string_view status);

// Lines of a daemon's log that a person wants to see. Everything that comes
// with each client and each question of ours is not among them.
bool is_worth_logging(std::string_view line);

// What CUDA said to the canary, as it exits with it.
struct CanaryVerdict {
  bool through = false;     // a client is served
  std::string problem;      // else, in words
  bool no_library = false;  // there is no libcuda to ask with
};
// `exit_code` empty: it had to be killed.
CanaryVerdict judge_canary(std::optional<int> exit_code, std::string_view last_words);

// Exit codes of the canary.
inline constexpr int kCanaryThrough = 0;
inline constexpr int kCanaryFailed = 1;
inline constexpr int kCanaryNoLibrary = 2;
inline constexpr int kCanaryFull = 3;  // served, and told that there is no room

}  // namespace tranche
