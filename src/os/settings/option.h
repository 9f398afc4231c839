// SPDX-License-Identifier: Apache-2.0
//
// The description of an option: what it is called on the command line, in the
// environment and in the file, what it may be, and what it is for. A program has
// a table of them; the parsers, the help and the documentation read that table.
//
// Constant data: any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/settings/field.h"

namespace tranche::os {

struct Option {
  std::string_view name;  // without dashes; empty: environment only
  std::array<std::string_view, 2> aliases = {};
  // Variables, where they are not the name in capitals; the first that is set wins.
  std::array<std::string_view, 2> environment = {};
  bool has_variable = true;
  std::string_view key;  // in the file; empty: not in the file
  // Where the value goes in the program's settings; empty: the program asks for it.
  std::array<Field, 2> to = {};
  ValueType type = ValueType::kText;  // with a field: that of the field, unless kPath
  std::string_view fallback;          // the default, written as on the command line
  std::string_view fallback_note;     // said in place of a default that is not a constant
  std::string_view allowed;           // words with commas; empty: anything of the type
  std::string_view refused;           // words that are understood, but not served when in effect
  std::string_view complaint;         // NVIDIA's words before a value that is not allowed
  // Of an option without effect: what is not done, said in a notice when it is
  // asked for. Empty: nobody misses it.
  std::string_view missed;
  std::string_view placeholder;  // of its value in the help; empty: by its type
  bool required = false;         // of a program without a file: must have a value
  bool secret = false;           // never kept, printed or logged
  std::string_view help;
  // Its heading in help and documentation, from in_group().
  std::string_view group;

  // What the option is called where no source is meant: its flag, or the
  // variable of one that has no flag.
  std::string_view title() const { return name.empty() ? environment[0] : name; }
  std::vector<std::string> variables() const;
  bool is_list() const { return type == ValueType::kTextList || type == ValueType::kNumberList; }
  // The default for people.
  std::string_view shown_fallback() const {
    return fallback_note.empty() ? fallback : fallback_note;
  }
  std::vector<std::string> allowed_words() const;
};

// In the order of the documentation: by group, then by importance.
using OptionTable = std::span<const Option>;

// The group of options that are taken and do nothing. They are not shown among the
// effective values unless they are given.
inline constexpr std::string_view kWithoutEffect = "Accepted without effect";

template <std::size_t N>
constexpr std::array<Option, N> in_group(std::string_view title, const Option (&rows)[N]) {
  std::array<Option, N> group{};
  std::ranges::copy(rows, group.begin());
  for (Option& option : group) {
    option.group = title;
    const Field& field = option.to[0];
    if (option.type == ValueType::kText) option.type = field.type;
    if (title == kWithoutEffect) option.has_variable = false;
  }
  return group;
}

// The options of a program that takes them from its command line alone.
template <std::size_t N>
constexpr std::array<Option, N> flags_only(std::string_view title, const Option (&rows)[N]) {
  std::array<Option, N> group = in_group(title, rows);
  for (Option& option : group) option.has_variable = false;
  return group;
}

// Groups as one table.
template <std::size_t... Sizes>
constexpr auto joined(const std::array<Option, Sizes>&... groups) {
  std::array<Option, (Sizes + ...)> all{};
  auto next = all.begin();
  ((next = std::ranges::copy(groups, next).out), ...);
  return all;
}

// The row with this flag name or alias; null when there is none.
const Option* find_option(OptionTable table, std::string_view name);

// All names and aliases, for "did you mean".
std::vector<std::string> option_names(OptionTable table);

}  // namespace tranche::os
