// SPDX-License-Identifier: Apache-2.0
#include "node/mps/outside.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "os/errno_error.h"
#include "os/files.h"
#include "os/trusted_folder.h"

namespace tranche::node {
namespace {

// Each connection leaves two lines in the daemon's log.
constexpr std::chrono::seconds kBetweenConnects{30};
constexpr const char* kSocket = "control";

PipeFound absent(std::string reason) { return {Presence::kAbsent, std::move(reason), ""}; }
PipeFound unknown(std::string reason) { return {Presence::kUnknown, std::move(reason), ""}; }

// Never blocks: the kernel answers at once.
int connect_once(int folder, int kind) {
  const UniqueFd fd(::socket(AF_UNIX, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Through the open folder, independent of its path and its length.
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder, kSocket);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(fd.get(), plain, sizeof(address)) == 0 ? 0 : errno;
}

int connect_to(int folder) {
  const int error = connect_once(folder, SOCK_SEQPACKET);
  return error == EPROTOTYPE ? connect_once(folder, SOCK_STREAM) : error;
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first = {};
  struct stat second = {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

std::string path_of(const UniqueFd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

std::string unseen(const std::string& pipe) {
  return fmt::format(
      "cannot see {} from this container, so it is unknown whether a daemon runs there; set "
      "mps.pipe of the chart, which mounts the parent folder at /mps-outside",
      pipe);
}

}  // namespace

PipeFound judge_connect(int error, const std::string& pipe) {
  const std::string socket = fmt::format("{}/{}", pipe, kSocket);
  switch (error) {
    case 0: return {Presence::kThere, "", ""};
    case ENOENT: return absent(fmt::format("there is no {}: no daemon runs there", socket));
    case ECONNREFUSED:
      return absent(fmt::format("nobody listens at {}: its daemon has ended", socket));
    case EAGAIN:
      return unknown(
          fmt::format("unknown whether the daemon at {} still serves: its queue of "
                      "connections is full",
                      socket));
    default:
      return unknown(fmt::format("unknown whether a daemon listens at {}: {}", socket,
                                 errno_error("connecting", error).message));
  }
}

MpsWiring wiring_with(MpsWiring wiring, const PipeFound& found) {
  if (!wiring.problem.empty()) return wiring;
  if (found.presence == Presence::kAbsent) wiring.problem = found.reason;
  if (found.presence == Presence::kUnknown) wiring.caution = found.reason;
  if (found.presence == Presence::kThere) wiring.caution = found.caution;
  return wiring;
}

MpsWiring OutsideWatch::look(const ExternalMps& elsewhere, Clock::time_point now) {
  MpsWiring wiring = elsewhere.wiring;
  if (!wiring.problem.empty()) return wiring;
  const bool ready =
      elsewhere.ready_when.empty() || std::ranges::any_of(elsewhere.ready_when, path_exists);
  if (!ready) {
    wiring.problem = fmt::format(
        "NVIDIA's MPS control daemon is not ready: neither {} nor {} exists; on the node that "
        "folder is {}, by --mps-root",
        elsewhere.ready_when.front(), elsewhere.ready_when.at(1), elsewhere.nvidia_root);
    return wiring;
  }
  // The first mounted view, else the path itself.
  for (const ExternalMps::View& view : elsewhere.views) {
    const bool is_given =
        path_exists(view.given_by) && (path_exists(view.pipe) || !path_exists(elsewhere.pipe));
    if (is_given) {
      return wiring_with(wiring,
                         with_way_on_host(look_at_pipe(view.pipe, now), view.pipe, elsewhere.pipe));
    }
  }
  PipeFound found = look_at_pipe(elsewhere.pipe, now);
  if (found.presence == Presence::kAbsent && !is_host_ && !path_exists(elsewhere.pipe)) {
    found = unknown(unseen(elsewhere.pipe));
  }
  found = with_way_on_host(std::move(found), elsewhere.pipe, elsewhere.pipe);
  return wiring_with(std::move(wiring), found);
}

PipeFound OutsideWatch::look_at_pipe(const std::string& pipe, Clock::time_point now) {
  const Result<TrustedFolder> folder = open_trusted_folder(pipe);
  if (!folder) {
    const bool is_missing = folder.error().code == ErrorCode::kNotFound;
    return absent(is_missing ? folder.error().message
                             : fmt::format("the pipe folder {} is not given to containers: {}",
                                           pipe, folder.error().message));
  }
  PipeFound found = connect_now_and_then(folder->fd.get(), pipe, now);
  if (folder->others_may_write) {
    found.caution = fmt::format(
        "others than root can write {} and replace the daemon's socket: chmod 755 it", pipe);
  }
  return found;
}

// The runtime mounts the host's path. What was looked at here is mounted below folders of ours,
// which say nothing of those above it on the host.
PipeFound OutsideWatch::with_way_on_host(PipeFound found, const std::string& here,
                                         const std::string& on_host) const {
  if (is_host_ || found.presence != Presence::kThere) return found;
  std::string why = "the agent sees them only with hostPID";
  if (!is_same_file(host_root_, "/")) {
    const auto folder = open_trusted_folder(on_host, Missing::kIsAnError, host_root_);
    if (!folder && folder.error().code == ErrorCode::kInvalidArgument) {
      return absent("the pipe folder " + on_host +
                    " is not given to containers: " + folder.error().message);
    }
    why = folder ? "another folder is there now than the agent was given" : folder.error().message;
    if (folder && is_same_file(path_of(folder->fd), here)) return found;
  }
  if (!found.caution.empty()) found.caution += "; ";
  found.caution += "whether others than root can replace the folders above " + on_host +
                   " on the host is not known: " + why;
  return found;
}

PipeFound OutsideWatch::connect_now_and_then(int folder, const std::string& pipe,
                                             Clock::time_point now) {
  struct stat above = {};
  struct stat socket = {};
  if (::fstat(folder, &above) != 0) return judge_connect(errno, pipe);
  if (::fstatat(folder, kSocket, &socket, AT_SYMLINK_NOFOLLOW) != 0) {
    return judge_connect(errno, pipe);
  }
  if (!S_ISSOCK(socket.st_mode)) return absent(fmt::format("{}/{} is not a socket", pipe, kSocket));
  if (!is_owner_trusted(socket)) {
    return absent(fmt::format("{}/{} belongs to user {}, not to root: any program may have made it",
                              pipe, kSocket, socket.st_uid));
  }
  Tried& tried = tried_[pipe];
  const FileIdentity in = file_identity(above);
  const FileIdentity at = file_identity(socket);
  const bool is_same = tried.folder.is_same_file(in) && tried.socket.is_same_file(at);
  const bool is_fresh =
      is_same && tried.found.presence == Presence::kThere && now < tried.at + kBetweenConnects;
  if (!is_fresh) {
    tried = {in, at, now, judge_connect(connect_to(folder), pipe)};
  }
  return tried.found;
}

bool has_paths_of_host() {
  // Set in every pod. Nothing changes the environment while we run.
  const bool is_in_pod =
      std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  // Process 1 is a container's, or the node's init, which we are not.
  return !is_in_pod && ::getpid() != 1;
}

}  // namespace tranche::node
