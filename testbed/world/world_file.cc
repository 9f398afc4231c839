// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/world_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "os/errno_error.h"
#include "os/unique_fd.h"
#include "testbed/world/parse.h"

namespace tranche::testbed::sim {
namespace {

// A file of its own: the world's is replaced, and the lock with it.
Result<UniqueFd> lock(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return errno_error("opening " + path);
  while (::flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return errno_error("locking " + path);
  }
  return fd;
}

// Replaces the file in one step. Not base's write_atomically: that makes sure
// the content outlives a power cut, which takes long on a busy disk and which no
// simulated world needs.
Status replace_file(const std::string& path, const std::string& content) {
  std::string temporary = path + ".XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return errno_error("creating " + temporary);
  const ssize_t written = ::write(fd.get(), content.data(), content.size());
  if (written != static_cast<ssize_t>(content.size()) || ::fchmod(fd.get(), 0644) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = errno_error("writing " + path);
    ::unlink(temporary.c_str());
    return error;
  }
  return Done{};
}

}  // namespace

Status write_world_file(const std::string& path, const World& world) {
  return replace_file(path, emit_world(world));
}

Result<WorldEdit> edit_world_file(const std::string& path, const Change& change,
                                  const std::function<Status(const WorldEdit&)>& while_locked) {
  const Result<UniqueFd> held = lock(path + ".lock");
  if (!held) return held.error();
  Result<World> before = load_world(path);
  if (!before) return before.error();
  Result<World> after = change(*before);
  if (!after) return after.error();
  WorldEdit edit{std::move(*before), std::move(*after)};
  if (Status written = write_world_file(path, edit.after); !written) {
    return written.error();
  }
  if (while_locked) {
    if (Status done = while_locked(edit); !done) return done.error();
  }
  return edit;
}

}  // namespace tranche::testbed::sim
