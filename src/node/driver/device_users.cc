// SPDX-License-Identifier: Apache-2.0
#include "node/driver/device_users.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/path.h"
#include "base/text.h"
#include "os/files.h"

namespace tranche::node {
namespace {

std::string link_target(const std::string& path) {
  std::array<char, 256> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

std::string program_of(const std::string& process) {
  const Result<std::string> name = read_file(below(process, "comm"));
  return name ? std::string(trim(*name)) : "?";
}

// Kernel threads are visible only from the host's own PID namespace.
bool sees_the_host(const std::string& proc) { return program_of(below(proc, "2")) == "kthreadd"; }

}  // namespace

DeviceUsers device_users(std::string_view root, const std::vector<std::string>& nodes) {
  const std::string proc = below(root, "/proc");
  DeviceUsers users{.is_complete = sees_the_host(proc)};
  const Result<std::vector<std::string>> names = list_directory(proc);
  if (!names) return users;
  for (const std::string& name : *names) {
    const auto pid = parse_number<unsigned>(name);
    if (!pid) continue;
    const std::string process = below(proc, name);
    const Result<std::vector<std::string>> files = list_directory(below(process, "fd"));
    if (!files) {
      // A process that has ended meanwhile does not matter.
      users.is_complete = users.is_complete && !path_exists(process);
      continue;
    }
    std::set<std::string> open;
    for (const std::string& file : *files) open.insert(link_target(below(process, "fd/" + file)));
    for (const std::string& node : nodes) {
      if (open.contains(node)) {
        users.found.push_back({static_cast<int>(*pid), program_of(process), node});
      }
    }
  }
  std::ranges::sort(users.found, {}, &DeviceUser::pid);
  return users;
}

}  // namespace tranche::node
