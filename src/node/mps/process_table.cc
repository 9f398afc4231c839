// SPDX-License-Identifier: Apache-2.0
#include "node/mps/process_table.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "os/files.h"

namespace tranche::node {
namespace {

std::string proc(pid_t pid, std::string_view name) { return fmt::format("/proc/{}/{}", pid, name); }

std::string proc_text(const std::string& path) {
  const auto text = read_file(path, 1 << 20);
  return text ? *text : "";
}

// More than usual programs have; a process of a pod can have a million.
constexpr int kMostDescriptors = 4096;

std::optional<std::uint32_t> socket_at(const std::string& path) {
  std::array<char, 64> link{};
  const ssize_t size = ::readlink(path.c_str(), link.data(), link.size());
  if (size <= 0) return std::nullopt;
  return socket_inode({link.data(), static_cast<std::size_t>(size)});
}

constexpr std::array<long, 3> kReads{SYS_read, SYS_recvfrom, SYS_recvmsg};
constexpr std::array<long, 4> kWrites{SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg};

template <typename Calls>
bool is_one_of(const Calls& calls, std::string_view number) {
  const auto call = parse_number<long>(number);
  return call && std::ranges::find(calls, *call) != calls.end();
}

}  // namespace

std::optional<int> waiting_descriptor(std::string_view text) {
  const std::vector<std::string> words = split(trim(text), ' ');
  if (words.size() < 2 || !words[1].starts_with("0x")) return std::nullopt;
  if (!is_one_of(kReads, words[0]) && !is_one_of(kWrites, words[0])) return std::nullopt;
  return parse_number<int>(words[1].substr(2), 16);
}

bool waits_to_write(std::string_view text) {
  return is_one_of(kWrites, split(trim(text), ' ').front());
}

std::optional<ProcessFacts> facts_of(pid_t pid) {
  const std::string status = proc_text(proc(pid, "status"));
  if (status.empty()) return std::nullopt;
  ProcessFacts facts{.pid = pid, .start = start_time(proc_text(proc(pid, "stat")))};
  take_status(status, facts);
  take_cgroup(proc_text(proc(pid, "cgroup")), facts);
  return facts;
}

std::vector<pid_t> processes_shown() {
  std::vector<pid_t> pids;
  const auto names = list_directory("/proc");
  if (!names) return pids;
  for (const std::string& name : *names) {
    if (const auto pid = parse_number<pid_t>(name)) pids.push_back(*pid);
  }
  return pids;
}

std::uint64_t network_of(pid_t pid) {
  struct stat status = {};
  return ::stat(proc(pid, "ns/net").c_str(), &status) == 0 ? status.st_ino : 0;
}

bool shows_descriptors(pid_t pid) { return static_cast<bool>(list_directory(proc(pid, "fd"))); }

std::set<std::uint32_t> sockets_among(pid_t pid, const std::set<std::uint32_t>& inodes) {
  std::set<std::uint32_t> found;
  const std::string folder = proc(pid, "fd");
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr) return found;
  int left = kMostDescriptors;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this one
  for (const dirent* entry = ::readdir(entries);
       entry != nullptr && left > 0 && found.size() < inodes.size(); entry = ::readdir(entries)) {
    --left;
    const auto inode =
        socket_at(fmt::format("{}/{}", folder, static_cast<const char*>(entry->d_name)));
    if (inode && inodes.contains(*inode)) found.insert(*inode);
  }
  ::closedir(entries);
  return found;
}

std::map<int, std::uint32_t> sockets_of(pid_t pid) {
  std::map<int, std::uint32_t> sockets;
  const std::string folder = proc(pid, "fd");
  const auto names = list_directory(folder);
  if (!names) return sockets;
  for (const std::string& name : *names) {
    const auto inode = socket_at(fmt::format("{}/{}", folder, name));
    const auto number = parse_number<int>(name);
    if (inode && number) sockets[*number] = *inode;
  }
  return sockets;
}

std::optional<std::map<int, bool>> descriptors_waited_for(pid_t pid) {
  std::map<int, bool> descriptors;
  bool is_known = false;
  const std::string folder = proc(pid, "task");
  const auto threads = list_directory(folder);
  if (!threads) return std::nullopt;
  for (const std::string& thread : *threads) {
    const std::string call = proc_text(fmt::format("{}/{}/syscall", folder, thread));
    is_known = is_known || !call.empty();
    if (const auto descriptor = waiting_descriptor(call)) {
      descriptors[*descriptor] = waits_to_write(call);
    }
  }
  if (!is_known) return std::nullopt;
  return descriptors;
}

}  // namespace tranche::node
