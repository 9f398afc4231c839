// SPDX-License-Identifier: Apache-2.0
#include "sim/world/world_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <utility>

#include "base/errno_error.h"
#include "base/files.h"
#include "base/unique_fd.h"
#include "sim/world/parse.h"

namespace tranche::sim {
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

}  // namespace

Result<WorldEdit> edit_world_file(const std::string& path, const Change& change,
                                  const std::function<Status(const WorldEdit&)>& while_locked) {
  const Result<UniqueFd> held = lock(path + ".lock");
  if (!held) return held.error();
  Result<World> before = load_world(path);
  if (!before) return before.error();
  Result<World> after = change(*before);
  if (!after) return after.error();
  WorldEdit edit{std::move(*before), std::move(*after)};
  if (Status written = write_atomically(path, emit_world(edit.after)); !written) {
    return written.error();
  }
  if (while_locked) {
    if (Status done = while_locked(edit); !done) return done.error();
  }
  return edit;
}

}  // namespace tranche::sim
