// SPDX-License-Identifier: Apache-2.0
//
// Reads a configuration file: NVIDIA's v1 format with a `tranche` section. Strict, and reports all
// problems of a file at once. Pure.
#pragma once

#include <string>
#include <vector>

#include "os/settings/document.h"
#include "os/settings/resolve.h"
#include "programs/settings/sharing_reader.h"

namespace tranche::programs {

struct FileContent {
  FileValues values;
  SharingSections sharing;
  std::vector<std::string> notices;   // worth a line in the log
  std::vector<std::string> warnings;  // probably a mistake
  std::vector<std::string> problems;  // if there is one, ignore the rest
};

FileContent read_config(const ConfigText& file);

}  // namespace tranche::programs
