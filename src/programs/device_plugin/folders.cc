// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/folders.h"

#include <sys/types.h>

#include <array>
#include <cstdio>

#include "base/path.h"
#include "os/files.h"

namespace tranche::programs {
namespace {

std::string octal(mode_t mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode));
  return text.data();
}

}  // namespace

bool make_state_folder(const std::string& folder, Log& log) {
  const Result<FolderMode> made = make_private_directory(folder);
  if (made && made->found != made->now) {
    log.warning("others could write the state folder; it is for its owner alone to write now",
                {{"folder", folder}, {"was", octal(made->found)}, {"mode", octal(made->now)}});
  }
  if (made) return true;
  if (made.error().code == ErrorCode::kInvalidArgument) {
    log.error("the state folder is not ours alone; make one that only root may write",
              {{"reason", made.error().message}, {"flag", "--state-dir"}});
    return false;
  }
  log.warning("the state folder cannot be made; faults will not outlive a restart",
              {{"reason", made.error().message}});
  return true;
}

void check_driver_folder(const Settings& settings, Log& log) {
  if (!settings.grant.driver_mount) return;
  const std::string folder = below(settings.host_root, settings.grant.driver_mount->host_path);
  if (path_exists(folder)) return;
  log.warning("the folder to mount into containers is not there",
              {{"folder", folder}, {"flag", "-host-path"}});
}

}  // namespace tranche::programs
