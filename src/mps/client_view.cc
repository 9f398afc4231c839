// SPDX-License-Identifier: Apache-2.0
#include "mps/client_view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/errno_error.h"
#include "base/files.h"

namespace tranche {
namespace {

constexpr mode_t kPassable = 0755;

Status make_passable(const std::string& folder, mode_t mode) {
  if (Status made = make_directories(folder, mode); !made) return made;
  // A server runs as its clients' user: the umask must not keep it out.
  if (::chmod(folder.c_str(), mode) != 0) return errno_error("opening up " + folder);
  return Done{};
}

}  // namespace

Status make_mps_folders(const MpsDaemonPlan& plan) {
  for (const std::string& folder : {plan.folder, plan.pipe(), plan.log(), plan.client_view()}) {
    if (Status made = make_passable(folder, kPassable); !made) return made;
  }
  // As /dev/shm itself is: everybody writes, nobody removes another's.
  if (plan.shared_memory) return make_passable(plan.shm(), 01777);
  return Done{};
}

Status link_client_view(const MpsDaemonPlan& plan) {
  const std::string socket = plan.pipe() + "/control";
  const std::string place = plan.client_view() + "/control";
  struct stat theirs = {};
  struct stat ours = {};
  if (::stat(socket.c_str(), &theirs) != 0) return errno_error("looking at " + socket);
  // Renaming one link of a file over another does nothing and leaves both.
  if (::stat(place.c_str(), &ours) == 0 && ours.st_ino == theirs.st_ino &&
      ours.st_dev == theirs.st_dev) {
    return Done{};
  }
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

Status remove_mps_folders(const MpsDaemonPlan& plan) {
  const Result<std::vector<std::string>> names = list_directory(plan.folder);
  if (!names) {
    return names.error().code == ErrorCode::kNotFound ? Status(Done{}) : Status(names.error());
  }
  std::error_code error;
  for (const std::string& name : *names) {
    const std::string path = plan.folder + "/" + name;
    if (plan.keep_pipe && path == plan.pipe()) {
      for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
        std::filesystem::remove_all(entry.path(), error);
      }
    } else {
      std::filesystem::remove_all(path, error);
    }
    if (error) return Error{ErrorCode::kUnavailable, "removing " + path + ": " + error.message()};
  }
  if (!plan.keep_pipe && ::rmdir(plan.folder.c_str()) != 0) {
    return errno_error("removing " + plan.folder);
  }
  return Done{};
}

}  // namespace tranche
