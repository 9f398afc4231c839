// SPDX-License-Identifier: Apache-2.0
//
// Every key that the configuration file may have, with what it takes: the keys
// of the flag table, the sections around them, and what only the file can say.
// Constant data: any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/flag_table.h"

namespace tranche {

enum class KeyKind {
  kSection,
  kRows,  // a list of sections
  kBool,
  kNumber,
  kText,
  kDuration,
  kAnyDuration,  // a number of nanoseconds too, and "infinite"
  kTextList,     // one text or a list
  kNumberList,
  kDevices,  // all, a count, or a list of devices
  kMemory,   // a size with its unit
};

enum class KeyOwner {
  kOurs,
  kOtherProgram,  // NVIDIA's gpu-feature-discovery: checked for form, without effect
};

struct KeySpec {
  std::string_view path;  // "sharing.timeSlicing.resources[].replicas"
  KeyKind kind = KeyKind::kText;
  KeyOwner owner = KeyOwner::kOurs;
  const FlagSpec* flag = nullptr;  // the setting that this key sets
  std::string_view fallback;
  std::string_view help;
};

class Schema {
 public:
  Schema();

  const std::vector<KeySpec>& keys() const { return keys_; }
  // Null when there is no such key. The empty path is the file itself.
  const KeySpec* find(std::string_view path) const;
  // Names of the keys directly below a section; `path` ends in "[]" for rows.
  std::vector<std::string> names_below(std::string_view path) const;

 private:
  std::vector<KeySpec> keys_;
};

// "true or false", "a whole number": for messages and the documentation.
std::string_view expected(KeyKind kind);

// The last part of a path: "replicas".
std::string_view last_name(std::string_view path);
// What it lies in: "sharing.timeSlicing.resources[]"; empty at the top.
std::string_view parent_path(std::string_view path);

}  // namespace tranche
