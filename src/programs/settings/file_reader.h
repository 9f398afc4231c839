// SPDX-License-Identifier: Apache-2.0
//
// From the text of a configuration file to what it says: NVIDIA's v1 format
// with a `tranche` section. Strict, and complete in its complaints: a file has
// all its problems told at once. Pure.
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
  std::vector<std::string> warnings;  // most likely not what was meant
  std::vector<std::string> problems;  // when there is one, nothing else counts
};

FileContent read_config(const ConfigText& file);

}  // namespace tranche::programs
