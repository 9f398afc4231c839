// SPDX-License-Identifier: Apache-2.0
#include "node/mps/outside.h"

#include <fcntl.h>
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

// Each leaves two lines in the daemon's log.
constexpr std::chrono::seconds kBetweenConnects{30};
constexpr const char* kSocket = "control";

PipeFound absent(std::string reason) { return {Presence::kAbsent, std::move(reason), ""}; }
PipeFound unknown(std::string reason) { return {Presence::kUnknown, std::move(reason), ""}; }

// Never waits: the kernel answers at once whether somebody listens.
int connect_once(int folder, int kind) {
  const UniqueFd fd(::socket(AF_UNIX, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // By the open folder: whatever its path is by now, and however long.
  const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/" + kSocket;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(fd.get(), plain, sizeof(address)) == 0 ? 0 : errno;
}

int connect_to(int folder) {
  const int error = connect_once(folder, SOCK_SEQPACKET);
  return error == EPROTOTYPE ? connect_once(folder, SOCK_STREAM) : error;
}

std::string unseen(const std::string& pipe) {
  return "whether a daemon is at " + pipe +
         " is not known: the folder is not to be seen from here; the chart's mps.pipe mounts the "
         "one above it at /mps-outside";
}

}  // namespace

PipeFound judge_connect(int error, const std::string& pipe) {
  const std::string socket = pipe + "/" + kSocket;
  switch (error) {
    case 0: return {Presence::kThere, "", ""};
    case ENOENT: return absent("there is no " + socket + ": no daemon runs there");
    case ECONNREFUSED: return absent("nobody listens at " + socket + ": its daemon has ended");
    case EAGAIN:
      return unknown("whether the daemon at " + socket +
                     " still serves is not known: its queue of connections is full");
    default:
      return unknown("whether a daemon listens at " + socket +
                     " is not known: " + errno_error("connecting", error).message);
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
    wiring.problem = "NVIDIA's MPS control daemon is not ready: none of " +
                     elsewhere.ready_when.front() + " and " + elsewhere.ready_when.at(1) +
                     " is there";
    return wiring;
  }
  // The first place that somebody gave us to look at, or else the path itself.
  for (const ExternalMps::View& view : elsewhere.views) {
    const bool is_given =
        path_exists(view.given_by) && (path_exists(view.pipe) || !path_exists(elsewhere.pipe));
    if (is_given) return wiring_with(wiring, look_at_pipe(view.pipe, now));
  }
  PipeFound found = look_at_pipe(elsewhere.pipe, now);
  if (found.presence == Presence::kAbsent && !is_host_ && !path_exists(elsewhere.pipe)) {
    found = unknown(unseen(elsewhere.pipe));
  }
  return wiring_with(std::move(wiring), found);
}

PipeFound OutsideWatch::look_at_pipe(const std::string& pipe, Clock::time_point now) {
  const Result<TrustedFolder> folder = open_trusted_folder(pipe);
  if (!folder) {
    const bool is_missing = folder.error().code == ErrorCode::kNotFound;
    return absent(is_missing ? folder.error().message
                             : "the pipe folder " + pipe +
                                   " is not given to containers: " + folder.error().message);
  }
  PipeFound found = connect_now_and_then(folder->fd.get(), pipe, now);
  if (folder->others_may_write) {
    found.caution = "others than root may write " + pipe +
                    " and put a socket of theirs into the daemon's place: chmod 755 it";
  }
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
  if (!S_ISSOCK(socket.st_mode)) return absent(pipe + "/" + kSocket + " is no socket");
  if (!is_owner_trusted(socket)) {
    return absent(pipe + "/" + kSocket + " belongs to user " + std::to_string(socket.st_uid) +
                  ", and not to root: it may be anybody's");
  }
  Tried& tried = tried_[pipe];
  const bool is_same = tried.folder == above.st_ino && tried.socket == socket.st_ino;
  const bool is_fresh =
      is_same && tried.found.presence == Presence::kThere && now < tried.at + kBetweenConnects;
  if (!is_fresh) {
    tried = {above.st_ino, socket.st_ino, now, judge_connect(connect_to(folder), pipe)};
  }
  return tried.found;
}

bool has_paths_of_host() {
  // Set in every pod. Nothing changes the environment while we run.
  const bool is_in_pod =
      std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  // The first process is a container's, or the node's own, which we are not.
  return !is_in_pod && ::getpid() != 1;
}

}  // namespace tranche::node
