// SPDX-License-Identifier: Apache-2.0
//
// Finds single driver files below a root, for find_driver_files.cc and graphics_files.cc.
#pragma once

#include <string>
#include <vector>

#include "core/cdi/driver_files.h"
#include "node/cdi/driver_root.h"

namespace tranche::node {

enum class FileKind {
  kFile,
  kFolder,
  kProgram,
  kSocket,  // of a daemon; only root and that daemon can replace it
};

// Adds the file at `path` if it is of that kind; returns whether it did. Without a `container_path`
// the container gets it at the same path.
bool add_file(DriverRoot& root, const std::string& path, FileKind kind,
              std::vector<DriverFile>& files, const std::string& container_path = "");

// Adds `name` from the first of `folders` that has it.
void add_first(DriverRoot& root, const std::vector<std::string>& folders, const std::string& name,
               FileKind kind, std::vector<DriverFile>& files);

// Folders of programs.
std::vector<std::string> program_folders();

}  // namespace tranche::node
