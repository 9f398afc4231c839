// SPDX-License-Identifier: Apache-2.0
#include "core/mps/control_words.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "base/text.h"

namespace tranche::core {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

std::string in_mib(std::uint64_t bytes) { return fmt::format("{}M", bytes >> 20); }

}  // namespace

std::string set_default_limit(unsigned ordinal, std::optional<std::uint64_t> bytes) {
  return fmt::format("set_default_device_pinned_mem_limit {} {}", ordinal,
                     bytes ? in_mib(*bytes) : "0");
}

std::string set_server_limit(int server, unsigned ordinal, std::uint64_t bytes) {
  return fmt::format("set_device_pinned_mem_limit {} {} {}", server, ordinal, in_mib(bytes));
}

std::string set_default_percentage(const std::string& percentage) {
  return "set_default_active_thread_percentage " + percentage;
}

std::string set_server_percentage(int server, const std::string& percentage) {
  return fmt::format("set_active_thread_percentage {} {}", server, percentage);
}

bool shows_limit(std::string_view answer, std::optional<std::uint64_t> bytes) {
  const std::string_view text = trim(answer);
  // Its answer for less than 1 GiB is not known.
  if (text.empty()) return !bytes || *bytes < kGiB;
  if (text.ends_with("not found")) return true;
  const auto number = parse_number<std::uint64_t>(text.substr(0, text.size() - 1));
  const std::uint64_t unit = text.back() == 'G' ? kGiB : text.back() == 'M' ? 1 << 20 : 0;
  // Unknown answers mean nothing.
  if (!number || unit == 0) return true;
  return bytes && *bytes / unit == *number;
}

bool shows_percentage(std::string_view answer, std::string_view percentage) {
  const std::string said(trim(answer));
  const std::string wanted = percentage.empty() ? "100" : std::string(percentage);
  if (said.empty() || said.find_first_not_of("0123456789.") != std::string::npos) return true;
  // It prints one decimal.
  return std::abs(std::strtod(said.c_str(), nullptr) - std::strtod(wanted.c_str(), nullptr)) < 0.11;
}

bool changes_something(std::string_view command) {
  constexpr std::array<std::string_view, 5> kVerbs{"set_", "terminate_client", "shutdown_server",
                                                   "start_server", "quit"};
  for (const std::string_view verb : kVerbs) {
    if (command.starts_with(verb)) return true;
  }
  return false;
}

std::string command_taken(std::string_view line) {
  constexpr std::string_view kBefore = "] Cmd:";
  constexpr std::size_t kMostShown = 200;
  const std::size_t at = line.find(kBefore);
  if (at == std::string_view::npos) return "";
  const std::string_view command = trim(line.substr(at + kBefore.size()));
  return changes_something(command) ? printable(command.substr(0, kMostShown)) : "";
}

std::vector<int> parse_pids(std::string_view answer) {
  std::vector<int> pids;
  for (const std::string& line : split(answer, '\n')) {
    const std::optional<int> pid = parse_number<int>(trim(line));
    if (pid && *pid > 0) pids.push_back(*pid);
  }
  return pids;
}

std::string server_problem(int server, std::string_view status) {
  const std::string_view word = trim(status);
  // A server that ended between two commands is missing in the next answer.
  if (word == "ACTIVE" || word == "INITIALIZING" || word.ends_with("not found")) return "";
  if (word == "FAULT") {
    return fmt::format(
        "MPS server {} is in state FAULT: a client's fatal error ended the other clients too, and "
        "the server accepts no new client",
        server);
  }
  return fmt::format("MPS server {} says '{}' of its state", server, word);
}

bool is_worth_logging(std::string_view line) {
  const auto has = [&](std::string_view words) {
    return line.find(words) != std::string_view::npos;
  };
  if (has("exited with status")) return !line.ends_with(" 0");
  return has("FAULT") || has("fatal") || has("already running") || has("cannot ") ||
         has("Cannot ") || has("Failed to ");
}

CanaryVerdict judge_canary(std::optional<int> exit_code, std::string_view last_words) {
  if (!exit_code) {
    return {.problem = "a client that should have got through hangs", .hangs = true};
  }
  const std::string said(trim(last_words));
  switch (*exit_code) {
    case kCanaryThrough:
    case kCanaryFull: return {.through = true};
    case kCanaryNotReady:
      return {.problem = "the MPS server is not ready for clients: " + said, .not_ready = true};
    case kCanaryNoLibrary:
      return {.problem = "there is no libcuda.so.1 to try it with: " + said, .no_library = true};
    default: break;
  }
  return {.problem = "a client does not get through: " +
                     (said.empty() ? fmt::format("exit code {}", *exit_code) : said)};
}

}  // namespace tranche::core
