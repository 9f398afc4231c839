// SPDX-License-Identifier: Apache-2.0
#include "os/find_process.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "os/files.h"

namespace tranche::os {
namespace {

// Of all arguments; the first is what counts.
constexpr std::size_t kMostArguments = 4U << 20U;

// Empty: the process has ended, or is one of the kernel's.
std::string first_argument(const std::string& proc, pid_t pid) {
  const auto words = read_file(below(proc, std::to_string(pid) + "/cmdline"), kMostArguments);
  return words ? words->substr(0, words->find('\0')) : std::string();
}

}  // namespace

std::optional<pid_t> find_process(const std::string& name, const std::string& proc) {
  if (name.empty()) return std::nullopt;
  const auto names = list_directory(proc);
  if (!names) return std::nullopt;
  std::vector<pid_t> pids;
  for (const std::string& entry : *names) {
    const auto pid = parse_number<pid_t>(entry);
    if (pid && *pid != ::getpid()) pids.push_back(*pid);
  }
  std::ranges::sort(pids);
  std::optional<pid_t> near;
  for (const pid_t pid : pids) {
    const std::string argument = first_argument(proc, pid);
    if (argument == name) return pid;
    if (!near && !argument.empty() && file_name_of(argument) == file_name_of(name)) near = pid;
  }
  return near;
}

}  // namespace tranche::os
