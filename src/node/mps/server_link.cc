// SPDX-License-Identifier: Apache-2.0
#include "node/mps/server_link.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

#include "node/mps/driver_programs.h"
#include "node/mps/folder_mark.h"
#include "os/errno_error.h"

namespace tranche::node {
namespace {

// The daemons of one directory share the folder and start in parallel.
std::mutex& link_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Status make_server_link(const std::string& folder, const std::string& self) {
  const std::lock_guard lock(link_mutex());
  const Result<UniqueFd> own = make_own_folder(folder, FolderUse::kServerLink, self);
  if (!own) return own.error();
  const std::string temporary = std::string(kServerProgram) + ".new";
  ::unlinkat(own->get(), temporary.c_str(), 0);
  if (::symlinkat(self.c_str(), own->get(), temporary.c_str()) != 0) {
    return errno_error(fmt::format("linking {}/{}", folder, temporary));
  }
  if (::renameat(own->get(), temporary.c_str(), own->get(), kServerProgram) != 0) {
    return errno_error(fmt::format("renaming to {}/{}", folder, kServerProgram));
  }
  return Done{};
}

void remove_server_link(const std::string& folder, const std::string& self) {
  const std::lock_guard lock(link_mutex());
  if (!open_own_folder(folder, FolderUse::kServerLink, self)) return;
  // At worst an empty folder and a link are left, for the next agent.
  static_cast<void>(remove_own_folder(folder));
}

}  // namespace tranche::node
