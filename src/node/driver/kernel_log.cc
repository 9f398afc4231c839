// SPDX-License-Identifier: Apache-2.0
#include "node/driver/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "os/errno_error.h"

namespace tranche::node {
Result<KernelLog> KernelLog::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return errno_error("opening " + path);
  if (::lseek(fd.get(), 0, SEEK_END) < 0) return errno_error("seeking in " + path);
  return KernelLog(std::move(fd));
}

std::vector<KernelXid> KernelLog::drain() {
  std::vector<KernelXid> found;
  std::array<char, 8192> buffer{};
  while (true) {
    const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
    // EPIPE: the kernel overwrote records before we read them; the next are readable.
    if (count < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (count <= 0) return found;
    unfinished_.append(buffer.data(), static_cast<std::size_t>(count));
    std::string_view rest = unfinished_;
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (const auto named = parse_introduction(line)) uuids_[named->first] = named->second;
      auto xid = parse_kernel_record(line);
      if (!xid) continue;
      const auto known = uuids_.find(xid->pci);
      if (known != uuids_.end()) xid->uuid = known->second;
      found.push_back(*std::move(xid));
    }
    unfinished_ = std::string(rest);
  }
}

}  // namespace tranche::node
