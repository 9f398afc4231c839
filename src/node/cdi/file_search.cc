// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/file_search.h"

#include <sys/stat.h>

#include <optional>

#include "base/path.h"

namespace tranche::node {
namespace {

bool is_a(FileKind kind, mode_t mode) {
  switch (kind) {
    case FileKind::kFile: return S_ISREG(mode);
    case FileKind::kFolder: return S_ISDIR(mode);
    case FileKind::kProgram: return S_ISREG(mode) && (mode & 0111) != 0;
    case FileKind::kSocket: return S_ISSOCK(mode);
  }
  return false;
}

}  // namespace

bool add_file(DriverRoot& root, const std::string& path, FileKind kind,
              std::vector<DriverFile>& files, const std::string& container_path) {
  const std::optional<struct stat> info = root.status(path);
  if (!info || !is_a(kind, info->st_mode)) return false;
  if (kind == FileKind::kSocket && !root.is_guarded(path, info->st_uid)) return false;
  files.push_back({.path = path,
                   .real_path = root.resolve(path).value_or(path),
                   .container_path = container_path.empty() ? path : container_path});
  return true;
}

void add_first(DriverRoot& root, const std::vector<std::string>& folders, const std::string& name,
               FileKind kind, std::vector<DriverFile>& files) {
  for (const std::string& folder : folders) {
    if (add_file(root, below(folder, name), kind, files)) return;
  }
}

std::vector<std::string> program_folders() {
  return {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};
}

}  // namespace tranche::node
