// SPDX-License-Identifier: Apache-2.0
#include "node/mps/client_view.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>

#include "node/mps/folder_mark.h"
#include "node/mps/shared_memory.h"
#include "os/errno_error.h"
#include "os/file_identity.h"
#include "os/files.h"
#include "os/trusted_folder.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr mode_t kPassable = 0755;

// In the daemon's folder, which only we can write.
Status make_passable(int folder, const std::string& path, mode_t mode) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  if (::mkdirat(folder, name.c_str(), mode) != 0 && errno != EEXIST) {
    return errno_error("creating " + path);
  }
  const UniqueFd fd(
      ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return errno_error("opening " + path);
  // A server runs as its clients' user: the umask must not keep it out.
  if (::fchmod(fd.get(), mode) != 0) return errno_error("opening up " + path);
  return Done{};
}

// NVIDIA's layout: its own daemon may have run here, and its plugin reads the folder.
Result<UniqueFd> open_shared_layout(const std::string& path) {
  Result<TrustedFolder> folder = open_trusted_folder(path, Missing::kIsMade);
  if (!folder) return folder.error();
  UniqueFd fd(::openat(folder->fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fchmod(fd.get(), kPassable) != 0) return errno_error("opening up " + path);
  return fd;
}

// A daemon's entries beside its pipe in NVIDIA's layout.
constexpr std::array kOfDaemons = {"log", "client", "output", "canary", "exclusive", "control.new"};

Status empty_shared_layout(const MpsDaemonPlan& plan) {
  const UniqueFd folder(
      ::open(plan.folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return errno == ENOENT ? Status(Done{}) : errno_error("opening " + plan.folder);
  for (const char* name : kOfDaemons) {
    if (Status gone = remove_entry(folder.get(), name, fmt::format("{}/{}", plan.folder, name));
        !gone) {
      return gone;
    }
  }
  const Result<std::vector<std::string>> in_pipe = list_directory(plan.pipe());
  if (!in_pipe) return Done{};
  const UniqueFd pipe(
      ::openat(folder.get(), "pipe", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!pipe) return errno_error("opening " + plan.pipe());
  for (const std::string& name : *in_pipe) {
    const std::string path = fmt::format("{}/{}", plan.pipe(), name);
    if (Status gone = remove_entry(pipe.get(), name, path); !gone) return gone;
  }
  return Done{};
}

}  // namespace

Status make_mps_folders(const MpsDaemonPlan& plan, const std::string& host_mounts) {
  const Result<UniqueFd> folder = plan.keep_pipe
                                      ? open_shared_layout(plan.folder)
                                      : make_own_folder(plan.folder, FolderUse::kDaemon, "");
  if (!folder) return folder.error();
  for (const std::string& path : {plan.pipe(), plan.log(), plan.client_view()}) {
    if (Status made = make_passable(folder->get(), path, kPassable); !made) return made;
  }
  if (!plan.shared_memory) return Done{};
  // Nobody may use the folder beneath the mount.
  if (::mkdirat(folder->get(), "shm", 0700) != 0 && errno != EEXIST) {
    return errno_error("creating " + plan.shm());
  }
  return mount_shared_memory(plan.shm(), plan.shared_memory_bytes, host_mounts);
}

Status link_client_view(const MpsDaemonPlan& plan) {
  const std::string socket = plan.pipe() + "/control";
  const std::string place = plan.client_view() + "/control";
  const std::optional<FileIdentity> theirs = file_identity(socket);
  if (!theirs) return errno_error("looking at " + socket);
  // Renaming one link of a file over another does nothing and leaves both.
  if (is_same_file(file_identity(place), theirs)) return Done{};
  const std::string temporary = plan.folder + "/control.new";
  ::unlink(temporary.c_str());
  if (::link(socket.c_str(), temporary.c_str()) != 0) return errno_error("linking " + socket);
  if (::rename(temporary.c_str(), place.c_str()) != 0) {
    const Error error = errno_error("renaming to " + place);
    ::unlink(temporary.c_str());
    return error;
  }
  return Done{};
}

bool may_end_daemon_of(const MpsDaemonPlan& plan) {
  if (plan.keep_pipe) return true;
  const Result<UniqueFd> folder = open_own_folder(plan.folder, FolderUse::kDaemon, "");
  return folder || folder.error().code == ErrorCode::kNotFound;
}

Status remove_mps_folders(const MpsDaemonPlan& plan) {
  if (plan.keep_pipe) return empty_shared_layout(plan);
  if (!may_end_daemon_of(plan)) {
    return Error{ErrorCode::kUnavailable, plan.folder + " is not ours; leaving it as it is"};
  }
  // Even if this agent shares none: an earlier one may have.
  if (Status unmounted = unmount_shared_memory(plan.shm()); !unmounted) return unmounted;
  Status removed = remove_own_folder(plan.folder);
  return !removed && removed.error().code == ErrorCode::kNotFound ? Status(Done{}) : removed;
}

}  // namespace tranche::node
