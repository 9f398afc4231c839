// SPDX-License-Identifier: Apache-2.0
#include "kubelet/socket_name.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "base/files.h"
#include "base/unique_fd.h"

namespace tranche {
namespace {

constexpr std::string_view kPrefix = "tranche-";
constexpr std::string_view kSuffix = ".sock";
// Of the 107 bytes of an address the kubelet's folder takes 32 and the rest of
// the name up to 30.
constexpr std::size_t kLongestResource = 40;

std::string hex(std::uint32_t number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%08x", number);
  return text.data();
}

// Nobody listens: the process that made it is gone.
bool is_dead(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return false;
  const int connected =
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return connected != 0 && errno == ECONNREFUSED;
}

}  // namespace

std::string socket_name(const ResourceName& resource, std::string_view run,
                        unsigned long long attempt) {
  std::string name = resource.text;
  std::ranges::replace(name, '/', '_');
  if (name.size() > kLongestResource) {
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string>{}(name));
    name = name.substr(0, kLongestResource - 9) + "~" + hex(hash);
  }
  return std::string(kPrefix) + name + "-" + std::string(run) + "-" + std::to_string(attempt) +
         std::string(kSuffix);
}

bool is_our_socket(std::string_view name) {
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

std::string fresh_run() {
  std::uint32_t number = 0;
  // In a container every agent has the same pid, so chance must tell them apart.
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) std::abort();
  return hex(number);
}

Result<std::vector<std::string>> remove_dead_sockets(const std::string& folder) {
  const Result<std::vector<std::string>> names = list_directory(folder);
  if (!names) return names.error();
  std::vector<std::string> removed;
  for (const std::string& name : *names) {
    const std::string path = below(folder, name);
    if (is_our_socket(name) && is_dead(path) && ::unlink(path.c_str()) == 0) {
      removed.push_back(name);
    }
  }
  return removed;
}

}  // namespace tranche
