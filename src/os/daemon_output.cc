// SPDX-License-Identifier: Apache-2.0
#include "os/daemon_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "os/errno_error.h"

namespace tranche::os {
namespace {

constexpr std::size_t kKeptLines = 100;
constexpr std::size_t kLongestLine = 4096;

}  // namespace

Result<DaemonOutput> DaemonOutput::open(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) return errno_error("making " + path);
  DaemonOutput output;
  output.path_ = path;
  // Open for writing as well: with no writer, between two daemons, poll would return at once for
  // ever.
  output.read_ = UniqueFd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!output.read_) return errno_error("opening " + path);
  return output;
}

Result<UniqueFd> DaemonOutput::writing_end() const {
  UniqueFd fd(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return errno_error("opening " + path_);
  return fd;
}

std::deque<std::string> DaemonOutput::take_lines() {
  std::deque<std::string> lines;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(read_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    part_.append(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = part_.find('\n'); end != std::string::npos; end = part_.find('\n')) {
      // Pods can influence the text.
      lines.push_back(printable(part_.substr(0, end)));
      part_.erase(0, end + 1);
    }
    if (part_.size() > kLongestLine) part_.clear();
    while (lines.size() > kKeptLines) lines.pop_front();
  }
  if (!lines.empty()) last_ = lines.back();
  return lines;
}

}  // namespace tranche::os
