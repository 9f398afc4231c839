// SPDX-License-Identifier: Apache-2.0
//
// Rows: the sections of a list in the file. Each key of a row is described once, with the member
// that it sets; the schema, the reader, the printer and the comparison of rows use that
// description.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "os/settings/document.h"
#include "os/settings/effective.h"
#include "os/settings/field.h"
#include "os/settings/file_problems.h"
#include "os/settings/schema.h"
#include "os/settings/values.h"

namespace tranche::os {

// The value of one key while a row is read. Not thread-safe.
class RowValue {
 public:
  // `shown` is the row as a message names it: "tranche.policies[0]".
  RowValue(const ConfigNode& row, std::string_view key, const std::string& shown,
           FileProblems& problems)
      : key_(key),
        node_(*find_item(row, key)),
        line_(key_line(row, key)),
        shown_(fmt::format("{}.{}", shown, key)),
        problems_(problems) {}

  std::string_view key() const { return key_; }
  const ConfigNode& node() const { return node_; }
  const std::string& shown() const { return shown_; }
  bool is_good() const { return good_; }

  void complain(const std::string& what) { complain_at(line_, what); }
  void complain_at(unsigned line, const std::string& what) {
    problems_.add(line, shown_, what);
    good_ = false;
  }
  // The value was reported before: the row does not count.
  void reject() { good_ = false; }
  // Accepted, but most likely a mistake.
  void warn(const std::string& what) { problems_.warn(node_.line, shown_, what); }

 private:
  const std::string_view key_;
  const ConfigNode& node_;
  const unsigned line_;
  const std::string shown_;
  FileProblems& problems_;
  bool good_ = true;
};

// The member of a row that a key sets.
template <typename Row>
struct RowField {
  void (*read)(Row& row, RowValue& value) = nullptr;
  std::optional<ConfigNode> (*show)(const Row& row) = nullptr;  // empty if it is not set
  bool (*same)(const Row& one, const Row& other) = nullptr;
};

template <typename Row>
struct RowKey {
  std::string_view name;
  KeyKind kind = KeyKind::kText;
  std::string_view takes;  // of kOwn
  Texts words = nullptr;
  std::string_view fallback;
  std::string_view help;
  bool is_term = false;  // rows of one name must agree
  RowField<Row> field;
  bool (*applies)(const Row& row) = nullptr;  // whether it fits the earlier keys; null: always
  std::string_view misfit;                    // the message where it does not
};
template <typename Row>
using RowKeys = std::span<const RowKey<Row>>;

// `kRead(value)` returns the member's value; nothing if it complained, or if the value is not of
// the key's type, which shape.h reports. `kShow` makes a node of the member.
// Reads like a function in tables. NOLINTBEGIN(readability-identifier-naming)
template <auto kRead, auto kShow, auto... kPath>
inline constexpr RowField<RootOf<kPath...>> member = {
    .read =
        [](RootOf<kPath...>& row, RowValue& value) {
          // The member may be an optional, too.
          // NOLINTNEXTLINE(bugprone-optional-value-conversion)
          if (auto read = kRead(value)) member_at(row, kPath...) = *std::move(read);
        },
    .show = [](const RootOf<kPath...>& row) -> std::optional<ConfigNode> {
      const auto& held = member_at(row, kPath...);
      if constexpr (std::is_invocable_v<decltype(kShow), decltype(held)>) {
        return kShow(held);
      } else {
        return held ? std::optional(kShow(*held)) : std::nullopt;
      }
    },
    .same =
        [](const RootOf<kPath...>& one, const RootOf<kPath...>& other) {
          return member_at(one, kPath...) == member_at(other, kPath...);
        }};
// NOLINTEND(readability-identifier-naming)

inline std::optional<bool> read_truth(RowValue& value) {
  if (!is_bool(value.node())) return std::nullopt;
  return scalar_truth(value.node());
}
// Reads like a function in tables. NOLINTBEGIN(readability-identifier-naming)
template <auto... kPath>
inline constexpr auto truth_member = member<read_truth, truth_node, kPath...>;
// NOLINTEND(readability-identifier-naming)

template <const auto& kWords>
auto read_word(RowValue& value) {
  const std::string& text = value.node().text;
  const auto meaning = meaning_of(kWords, text);
  if (!meaning && is_text(value.node())) {
    value.complain(fmt::format("unknown {}: {} ({})", value.key(), brief(text),
                               allowed_hint(text, texts<kWords>())));
  }
  return is_text(value.node()) ? meaning : std::nullopt;
}
template <const auto& kWords>
ConfigNode word_node(const decltype(kWords[0].meaning)& meaning) {
  return text_node(std::string(text_of(kWords, meaning)));
}
// Reads like a function in tables. NOLINTBEGIN(readability-identifier-naming)
template <const auto& kWords, auto... kPath>
inline constexpr auto word_member = member<read_word<kWords>, word_node<kWords>, kPath...>;
// NOLINTEND(readability-identifier-naming)

// The list at `path` and the keys of its rows, for a schema.
template <typename Row>
void add_row_keys(std::vector<KeySpec>& all, const std::string& path, RowKeys<Row> keys) {
  for (const RowKey<Row>& key : keys) {
    all.push_back({.path = fmt::format("{}[].{}", path, key.name),
                   .kind = key.kind,
                   .takes = key.takes,
                   .fallback = key.fallback,
                   .help = key.help,
                   .choices = key.words});
  }
}

template <typename Row>
struct Rows {
  std::vector<Row> rows;
  std::vector<unsigned> lines;  // of each

  void add(Row row, unsigned line) {
    rows.push_back(std::move(row));
    lines.push_back(line);
  }
};

// "sharing.timeSlicing.resources[0]".
inline std::string row_name(const std::string& section, std::size_t index) {
  return fmt::format("{}[{}]", section, index);
}

// Calls `read(section, name)` for each section of the list at `path`; shape.h reports other
// items.
template <typename Read>
void for_each_row(const ConfigNode& list, const std::string& path, Read read) {
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (list.items[i].kind == NodeKind::kMap) read(list.items[i], row_name(path, i));
  }
}

// Reads the keys of a row; returns whether all are good.
template <typename Row>
bool read_row(RowKeys<Row> keys, const ConfigNode& row, const std::string& shown,
              FileProblems& problems, Row& into) {
  bool good = true;
  for (const RowKey<Row>& key : keys) {
    if (given_item(row, key.name) == nullptr) continue;
    RowValue value(row, key.name, shown, problems);
    key.field.read(into, value);
    good = good && value.is_good();
  }
  return good;
}

template <typename Row>
ConfigNode row_node(RowKeys<Row> keys, const Row& row) {
  ConfigNode node{.kind = NodeKind::kMap};
  for (const RowKey<Row>& key : keys) {
    if (key.applies != nullptr && !key.applies(row)) continue;
    if (auto value = key.field.show(row)) put(node, key.name, *std::move(value));
  }
  return node;
}

}  // namespace tranche::os
