// SPDX-License-Identifier: Apache-2.0
//
// Every setting that is one value, in one table: what it is called on the
// command line, in the environment and in the file, what it may be, and what
// it is for. The parsers, the help, the documentation and the tests all read
// this table; a new setting is a new row and a line in build.cc.
//
// Constant data: any thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tranche {

enum class ValueType {
  kBool,
  kNumber,
  kDuration,
  kText,
  kChoice,      // one of `allowed`
  kPath,        // absolute, or empty
  kTextList,    // each one of `allowed`, where that is given
  kNumberList,  // whole numbers
};

enum class FlagGroup {
  kSharing,
  kNested,
  kContainers,
  kCdi,
  kDriver,
  kHealth,
  kAgent,
  kLogging,
  kWithoutEffect,
};

struct FlagSpec {
  std::string_view name;  // without dashes; empty: environment only
  std::array<std::string_view, 2> aliases = {};
  std::array<std::string_view, 2> environment = {};  // the first that is set wins
  std::string_view key;                              // in the file; empty: not in the file
  ValueType type = ValueType::kText;
  FlagGroup group = FlagGroup::kAgent;
  std::string_view fallback;       // the default, written as on the command line
  std::string_view fallback_note;  // said in place of a default that is not a constant
  std::string_view allowed;        // words with commas; empty: anything of the type
  std::string_view refused;        // words that are understood, but not served when in effect
  std::string_view complaint;      // NVIDIA's words before a value that is not allowed
  // Of a flag without effect: what is not done, said in a notice when it is
  // asked for. Empty: nobody misses it.
  std::string_view missed;
  bool secret = false;  // never kept, printed or logged
  std::string_view help;

  // What the setting is called where no source is meant: its flag, or the
  // variable of one that has no flag.
  std::string_view title() const { return name.empty() ? environment[0] : name; }
  bool is_list() const { return type == ValueType::kTextList || type == ValueType::kNumberList; }
  std::vector<std::string> allowed_words() const;
};

// In the order of the documentation: by group, then by importance.
std::span<const FlagSpec> flag_table();

// The row with this flag name or alias; null when there is none.
const FlagSpec* find_flag(std::string_view name);

// All names and aliases, for "did you mean".
std::vector<std::string> all_flag_names();

std::string_view group_title(FlagGroup group);

}  // namespace tranche
