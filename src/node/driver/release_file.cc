// SPDX-License-Identifier: Apache-2.0
#include "node/driver/release_file.h"

#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "formats/release_json.h"
#include "os/errno_error.h"
#include "os/files.h"

namespace tranche::node {

std::string release_path(const std::string& state_dir) { return below(state_dir, "released.json"); }

Result<ReleaseMemory> read_release(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<ReleaseMemory> release = parse_release_memory(*text);
  if (!release) return release.error().in(path);
  return release;
}

Status write_release(const std::string& path, const ReleaseMemory& release) {
  return write_atomically(path, to_json(release), 0600);
}

Status remove_release(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return Done{};
  return errno_error("removing " + path);
}

}  // namespace tranche::node
