// SPDX-License-Identifier: Apache-2.0
//
// Every key of a program's configuration file with its type: the keys of its options, the
// sections around them, and keys without a flag. Constant data: any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/settings/option.h"

namespace tranche::os {

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
  kMemory,  // a size with its unit
  kOwn,     // the program's own; `takes` describes it
};

struct KeySpec {
  std::string path;  // "sharing.timeSlicing.resources[].replicas"
  KeyKind kind = KeyKind::kText;
  std::string_view takes;        // of kOwn
  std::string_view owner;        // another program: checked for form, without effect; empty: ours
  const Option* flag = nullptr;  // the setting that this key sets
  std::string_view fallback;
  std::string_view help;
  Texts choices = nullptr;  // the allowed words of a key that is not an option

  bool is_ours() const { return owner.empty(); }
  // The allowed words; empty: any value of its kind.
  std::vector<std::string> words() const;
};

// A key that people confuse with another one, because another section or program has it.
struct Synonym {
  std::string_view section;
  std::string_view written;
  std::string_view meant;
};

class Schema {
 public:
  // Inserts the keys of options behind their section. `synonyms` must outlive it.
  Schema(const std::vector<KeySpec>& structure, OptionTable options,
         std::span<const Synonym> synonyms);

  const std::vector<KeySpec>& keys() const { return keys_; }
  std::span<const Synonym> synonyms() const { return synonyms_; }
  // Null for an unknown key. The empty path is the file itself.
  const KeySpec* find(std::string_view path) const;
  // Names of the keys directly below a section; `path` ends in "[]" for rows.
  std::vector<std::string> names_below(std::string_view path) const;

 private:
  std::vector<KeySpec> keys_;
  std::span<const Synonym> synonyms_;
};

// "true or false", "a whole number": for messages and the documentation.
std::string_view expected(const KeySpec& key);

// The last part of a path: "replicas".
std::string_view last_name(std::string_view path);
// The path of its section: "sharing.timeSlicing.resources[]"; empty at the top.
std::string_view parent_path(std::string_view path);

}  // namespace tranche::os
