// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/socket_name.h"

#include <fmt/core.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "base/path.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr std::string_view kPrefix = "tranche-";
constexpr std::string_view kSuffix = ".sock";
// An address has 107 bytes; the kubelet's folder takes 32 and the rest of the name up to 30.
constexpr std::size_t kLongestResource = 40;

std::string hex(std::uint32_t number) { return fmt::format("{:08x}", number); }

// No process listens on it any more.
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

// "nvidia.com_gpu": the resource in a socket name.
std::string resource_part(const ResourceName& resource) {
  std::string name = resource.text;
  std::ranges::replace(name, '/', '_');
  if (name.size() > kLongestResource) {
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string>{}(name));
    name = fmt::format("{}~{}", name.substr(0, kLongestResource - 9), hex(hash));
  }
  return name;
}

}  // namespace

std::string socket_name(const ResourceName& resource, std::string_view run,
                        unsigned long long attempt) {
  return fmt::format("{}{}-{}-{}{}", kPrefix, resource_part(resource), run, attempt, kSuffix);
}

bool is_our_socket(std::string_view name) {
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

bool may_serve(std::string_view socket, const ResourceName& resource) {
  if (!socket.ends_with(kSuffix)) return false;
  if (is_our_socket(socket)) {
    // Cut off "-5f3a9c01-2.sock"; the resource may contain a "-".
    const std::size_t run = socket.rfind('-', socket.rfind('-') - 1);
    return socket.substr(0, run) == std::string(kPrefix) + resource_part(resource);
  }
  constexpr std::string_view kNvidia = "nvidia.com/";
  if (!resource.text.starts_with(kNvidia)) return false;
  const std::string kind = resource.text.substr(kNvidia.size());
  return socket == fmt::format("nvidia-{}{}", kind, kSuffix) ||
         (kind == "gpu" && socket.starts_with("nvidiaGPU-"));
}

bool is_of_run(std::string_view socket, std::string_view run) {
  return is_our_socket(socket) && socket.find(fmt::format("-{}-", run)) != std::string_view::npos;
}

std::string fresh_run() {
  std::uint32_t number = 0;
  // Random, because in a container every agent has the same pid.
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) std::abort();
  return hex(number);
}

std::vector<std::string> living_sockets(const std::string& folder, const ResourceName& resource) {
  Result<std::vector<std::string>> names = list_directory(folder);
  if (!names) return {};
  std::erase_if(*names, [&](const std::string& name) {
    return !may_serve(name, resource) || is_dead(below(folder, name));
  });
  return *std::move(names);
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

}  // namespace tranche::node
