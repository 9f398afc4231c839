// SPDX-License-Identifier: Apache-2.0
#include "demo/scratch_folder.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "os/errno_error.h"

namespace tranche::demo {
namespace {

// A unix address has 107 bytes, and our longest name in the folder is 80.
constexpr std::size_t kLongestParent = 24;

Result<std::string> make_below(const std::string& parent) {
  if (parent.size() > kLongestParent) {
    return Error{ErrorCode::kInvalidArgument, parent + ": its path is too long for sockets"};
  }
  struct statvfs mounted{};
  if (::statvfs(parent.c_str(), &mounted) != 0) return errno_error(parent);
  if ((mounted.f_flag & ST_NOEXEC) != 0) {
    return Error{ErrorCode::kUnavailable, parent + ": mounted noexec"};
  }
  std::string path = parent + "/tranche-demo.XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return errno_error(parent);
  return path;
}

}  // namespace

Result<ScratchFolder> ScratchFolder::make(const std::vector<std::string>& parents) {
  std::vector<std::string> reasons;
  for (const std::string& parent : parents) {
    Result<std::string> path = make_below(parent);
    if (path) return ScratchFolder(*std::move(path));
    reasons.push_back(path.error().message);
  }
  return Error{ErrorCode::kUnavailable,
               "no temporary folder will do; name one in TMPDIR (" + join(reasons, "; ") + ")"};
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;  // who made it looks whether it is gone
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> temporary_folders() {
  std::vector<std::string> folders;
  // Before any thread is made, and nobody sets variables afterwards.
  const char* wanted = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  if (wanted != nullptr && *wanted == '/') folders.emplace_back(wanted);
  folders.emplace_back("/tmp");
  folders.emplace_back("/var/tmp");
  folders.push_back("/run/user/" + std::to_string(::geteuid()));
  folders.emplace_back("/dev/shm");
  return folders;
}

}  // namespace tranche::demo
