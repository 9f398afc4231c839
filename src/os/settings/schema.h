// SPDX-License-Identifier: Apache-2.0
//
// Every key that a program's configuration file may have, with what it takes: the keys
// of its options, the sections around them, and what only the file can say.
// Constant data: any thread.
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
  kOwn,     // of the program: what it takes is said in `takes`
};

struct KeySpec {
  std::string path;  // "sharing.timeSlicing.resources[].replicas"
  KeyKind kind = KeyKind::kText;
  std::string_view takes;        // of kOwn
  std::string_view owner;        // another program: checked for form, without effect; empty: ours
  const Option* flag = nullptr;  // the setting that this key sets
  std::string_view fallback;
  std::string_view help;
  Texts choices = nullptr;  // the words that it takes, where it is no option

  bool is_ours() const { return owner.empty(); }
  // The words that it takes; empty: anything of its kind.
  std::vector<std::string> words() const;
};

// A key that people write for another one, because another section or program calls it so.
struct Synonym {
  std::string_view section;
  std::string_view written;
  std::string_view meant;
};

class Schema {
 public:
  // Keys of options are put in behind the section that they lie in. `synonyms` must outlive it.
  Schema(const std::vector<KeySpec>& structure, OptionTable options,
         std::span<const Synonym> synonyms);

  const std::vector<KeySpec>& keys() const { return keys_; }
  std::span<const Synonym> synonyms() const { return synonyms_; }
  // Null when there is no such key. The empty path is the file itself.
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
// What it lies in: "sharing.timeSlicing.resources[]"; empty at the top.
std::string_view parent_path(std::string_view path);

}  // namespace tranche::os
