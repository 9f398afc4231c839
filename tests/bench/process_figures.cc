// SPDX-License-Identifier: Apache-2.0
#include "bench/process_figures.h"

#include <elf.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/patient_caller.h"

namespace tranche::bench {
namespace {

constexpr std::size_t kLargestProgram = 512U << 20U;

std::string proc(pid_t pid, const std::string& name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

bool is_driver_thread(pid_t pid, const std::string& thread) {
  const Result<std::string> name = read_file(proc(pid, "task/" + thread + "/comm"));
  return name && trim(*name) == kPatientThread;
}

}  // namespace

// "8124 kB" gives 8124 as well.
std::uint64_t first_number(std::string_view text) {
  text = trim(text);
  return parse_number<std::uint64_t>(text.substr(0, text.find(' '))).value_or(0);
}

std::uint64_t status_value(std::string_view status, std::string_view key) {
  for (const std::string& line : split(status, '\n')) {
    const std::string_view text = line;
    if (!text.starts_with(key) || text.size() <= key.size() || text[key.size()] != ':') continue;
    return first_number(text.substr(key.size() + 1));
  }
  return 0;
}

std::uint64_t resident_of_mapping(std::string_view smaps, std::string_view name) {
  std::uint64_t sum = 0;
  bool is_meant = false;
  for (const std::string& line : split(smaps, '\n')) {
    // A mapping begins with its addresses; what is said of it with "Key:".
    const std::string_view text = line;
    const std::string_view word = text.substr(0, text.find(' '));
    if (!word.ends_with(':')) {
      is_meant = text.find(name) != std::string_view::npos;
    } else if (is_meant && word == "Rss:") {
      sum += first_number(text.substr(word.size()));
    }
  }
  return sum;
}

Result<MemoryFigures> memory_of(pid_t pid) {
  const Result<std::string> status = read_file(proc(pid, "status"));
  if (!status) return status.error();
  const Result<std::string> smaps = read_file(proc(pid, "smaps"));
  if (!smaps) return smaps.error();
  return MemoryFigures{.resident_kib = status_value(*status, "VmRSS"),
                       .peak_kib = status_value(*status, "VmHWM"),
                       .anonymous_kib = status_value(*status, "RssAnon"),
                       .driver_kib = resident_of_mapping(*smaps, "libnvidia-ml")};
}

Result<ActivityFigures> activity_of(pid_t pid) {
  clockid_t clock = 0;
  if (const int failed = ::clock_getcpuclockid(pid, &clock); failed != 0) {
    return errno_error("the CPU clock of process " + std::to_string(pid), failed);
  }
  timespec used{};
  if (::clock_gettime(clock, &used) != 0) return errno_error("clock_gettime");
  ActivityFigures figures{.cpu = std::chrono::seconds(used.tv_sec) +
                                 std::chrono::nanoseconds(used.tv_nsec)};
  const Result<std::vector<std::string>> threads = list_directory(proc(pid, "task"));
  if (!threads) return threads.error();
  for (const std::string& thread : *threads) {
    const Result<std::string> status = read_file(proc(pid, "task/" + thread + "/status"));
    if (!status) continue;  // it has ended meanwhile
    ++figures.threads;
    if (is_driver_thread(pid, thread)) {
      const Result<std::string> run = read_file(proc(pid, "task/" + thread + "/schedstat"));
      if (run) figures.driver_cpu += std::chrono::nanoseconds(first_number(*run));
    }
    figures.sleeps[thread] = status_value(*status, "voluntary_ctxt_switches");
  }
  return figures;
}

std::uint64_t sleeps_between(const ActivityFigures& before, const ActivityFigures& after) {
  std::uint64_t sum = 0;
  for (const auto& [thread, count] : after.sleeps) {
    const auto known = before.sleeps.find(thread);
    sum += count - (known == before.sleeps.end() ? 0 : std::min(known->second, count));
  }
  return sum;
}

Result<std::uint64_t> loaded_bytes(const std::string& program) {
  const Result<std::string> bytes = read_file(program, kLargestProgram);
  if (!bytes) return bytes.error();
  Elf64_Ehdr header{};
  if (bytes->size() < sizeof(header)) return Error{ErrorCode::kInvalidArgument, "no program"};
  std::memcpy(&header, bytes->data(), sizeof(header));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const std::size_t at = header.e_phoff + i * header.e_phentsize;
    if (at > bytes->size() || bytes->size() - at < sizeof(segment)) {
      return Error{ErrorCode::kInvalidArgument, program + " is cut off"};
    }
    std::memcpy(&segment, bytes->data() + at, sizeof(segment));
    if (segment.p_type == PT_LOAD) sum += segment.p_filesz;
  }
  return sum;
}

}  // namespace tranche::bench
