// SPDX-License-Identifier: Apache-2.0
//
// From the text of a configuration file to what it says: NVIDIA's v1 format
// with a `tranche` section. Strict, and complete in its complaints: a file has
// all its problems told at once. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/origin.h"
#include "config/sharing_reader.h"
#include "config/values.h"

namespace tranche {

struct FileValue {
  Value value;
  Origin origin;
};

struct FileContent {
  std::map<std::string_view, FileValue> values;  // by FlagSpec::key
  SharingSections sharing;
  std::vector<std::string> notices;   // worth a line in the log
  std::vector<std::string> problems;  // when there is one, nothing else counts
};

FileContent read_config(const ConfigText& file);

}  // namespace tranche
