// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/toolkit_reader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/path.h"
#include "node/cdi/driver_root.h"
#include "os/errno_error.h"
#include "os/file_identity.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr std::size_t kPart = 1U << 20U;
constexpr std::size_t kLargestProgram = 256U << 20U;

// `path` of the host as this process sees it; empty: neither root has it.
std::string seen_at(const CdiOptions& options, const std::string& host_root,
                    const std::string& path) {
  const std::string root = below(options.driver_root, "");
  if (path.starts_with(root)) {
    const DriverRoot driver(options.container_driver_root);
    if (const auto found = driver.resolve(path.substr(root.size()))) return driver.here(*found);
  }
  const DriverRoot host(host_root);
  const auto found = host.resolve(path);
  return found ? host.here(*found) : std::string();
}

bool is_script(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 2> start{};
  return fd && check_plain(fd.get(), path) &&
         ::pread(fd.get(), start.data(), start.size(), 0) == 2 && start[0] == '#' &&
         start[1] == '!';
}

}  // namespace

Toolkit ToolkitReader::look(const CdiOptions& options, const std::string& host_root) {
  if (options.toolkit) return {.version = options.toolkit, .is_exact = true};
  std::string path = seen_at(options, host_root, options.hook_path);
  // The GPU Operator wraps it in a script that sets its environment.
  if (!path.empty() && is_script(path)) {
    path = seen_at(options, host_root, options.hook_path + ".real");
  }
  if (path.empty()) {
    return {.problem = fmt::format("there is no readable {} below {} or {}", options.hook_path,
                                   options.container_driver_root, host_root)};
  }
  const auto identity = file_identity(path);
  if (path_ != path || identity_ != identity || !identity) known_ = read(path);
  path_ = path;
  identity_ = identity;
  return known_;
}

Toolkit ToolkitReader::read(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return {.problem = errno_error("opening " + path).message};
  if (Status plain = check_plain(fd.get(), path); !plain) return {.problem = plain.error().message};
  ToolkitEvidence evidence;
  std::string part(kPart, '\0');
  for (std::size_t total = 0; total < kLargestProgram;) {
    const ssize_t count = ::read(fd.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {.problem = errno_error("reading " + path).message};
    if (count == 0) break;
    total += static_cast<std::size_t>(count);
    evidence.add(std::string_view(part).substr(0, static_cast<std::size_t>(count)));
  }
  return evidence.conclusion(path);
}

}  // namespace tranche::node
