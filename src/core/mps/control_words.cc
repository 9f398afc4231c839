// SPDX-License-Identifier: Apache-2.0
#include "mps/control_words.h"

#include "base/text.h"

namespace tranche {
namespace {

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + "M"; }

}  // namespace

std::string set_default_limit(unsigned ordinal, std::optional<std::uint64_t> bytes) {
  return "set_default_device_pinned_mem_limit " + std::to_string(ordinal) + " " +
         (bytes ? in_mib(*bytes) : "0");
}

std::string set_server_limit(int server, unsigned ordinal, std::uint64_t bytes) {
  return "set_device_pinned_mem_limit " + std::to_string(server) + " " + std::to_string(ordinal) +
         " " + in_mib(bytes);
}

std::string set_default_percentage(const std::string& percentage) {
  return "set_default_active_thread_percentage " + percentage;
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
  // A server that went between two questions is found missing by the next.
  if (word == "ACTIVE" || word == "INITIALIZING" || word.ends_with("not found")) return "";
  if (word == "FAULT") {
    return "MPS server " + std::to_string(server) +
           " is in state FAULT: a client's fatal error took its neighbours along, and no new "
           "client is let in";
  }
  return "MPS server " + std::to_string(server) + " says '" + std::string(word) + "' of its state";
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
  if (!exit_code) return {.problem = "a client that should have got through hangs"};
  const std::string said(trim(last_words));
  switch (*exit_code) {
    case kCanaryThrough:
    case kCanaryFull: return {.through = true};
    case kCanaryNoLibrary:
      return {.problem = "there is no libcuda.so.1 to try it with: " + said, .no_library = true};
    default: break;
  }
  return {.problem = "a client does not get through: " +
                     (said.empty() ? "exit code " + std::to_string(*exit_code) : said)};
}

}  // namespace tranche
