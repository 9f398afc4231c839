// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "os/settings/document.h"
#include "os/settings/values.h"

namespace tranche::os {
namespace {

constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                    "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                     "False", "FALSE", "off", "Off", "OFF"};

bool is_in(const std::array<std::string_view, 11>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view without_sign(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text;
}

// Removes digits from the front and returns their number.
std::size_t skip_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789_"), text.size());
  text.remove_prefix(end);
  return end;
}

bool is_numeral(std::string_view text) {
  const std::string_view digits = without_sign(text);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

// Numbers in YAML that no setting accepts: 1.5, 1e3, 0x1F, 1_000, .inf.
bool is_odd_number(std::string_view text) {
  text = without_sign(text);
  for (const std::string_view special : {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"}) {
    if (text == special) return true;
  }
  if (text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b")) {
    return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF_", 2) == text.npos;
  }
  if (text.starts_with('_')) return false;
  std::size_t digits = skip_digits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    digits += skip_digits(text);
  }
  if (digits == 0 || text.empty()) return digits != 0;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text = without_sign(text.substr(1));
  return skip_digits(text) > 0 && text.empty();
}

}  // namespace

ScalarKind scalar_kind(const ConfigNode& scalar) {
  if (scalar.quoted) return ScalarKind::kText;
  if (is_in(kTrue, scalar.text) || is_in(kFalse, scalar.text)) return ScalarKind::kBool;
  if (is_numeral(scalar.text)) return ScalarKind::kInteger;
  return is_odd_number(scalar.text) ? ScalarKind::kFloat : ScalarKind::kText;
}

bool scalar_truth(const ConfigNode& scalar) { return is_in(kTrue, scalar.text); }

std::string describe(const ConfigNode& node) {
  switch (node.kind) {
    case NodeKind::kNull: return "nothing";
    case NodeKind::kList: return "a list";
    case NodeKind::kMap: return "a section with keys";
    case NodeKind::kScalar: break;
  }
  switch (scalar_kind(node)) {
    case ScalarKind::kBool: return "the boolean " + brief(node.text);
    case ScalarKind::kInteger:
    case ScalarKind::kFloat: return "the number " + brief(node.text);
    case ScalarKind::kText: break;
  }
  return fmt::format("the text \"{}\"", brief(node.text));
}

const ConfigNode* find_item(const ConfigNode& map, std::string_view key) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == key) return &map.items[i];
  }
  return nullptr;
}

const ConfigNode* given_item(const ConfigNode& map, std::string_view key) {
  const ConfigNode* item = find_item(map, key);
  return item == nullptr || item->kind == NodeKind::kNull ? nullptr : item;
}

FoundNode find_path(const ConfigNode& root, std::string_view path) {
  FoundNode found{&root, root.line};
  for (const std::string& name : split(path, '.')) {
    const ConfigNode& map = *found.value;
    const ConfigNode* item = map.kind == NodeKind::kMap ? find_item(map, name) : nullptr;
    if (item == nullptr || item->kind == NodeKind::kNull) return {};
    found = {item, map.keys[static_cast<std::size_t>(item - map.items.data())].line};
  }
  return found;
}

bool is_text(const ConfigNode& node) {
  return node.kind == NodeKind::kScalar && scalar_kind(node) == ScalarKind::kText;
}
bool is_integer(const ConfigNode& node) {
  return node.kind == NodeKind::kScalar && scalar_kind(node) == ScalarKind::kInteger;
}
bool is_bool(const ConfigNode& node) {
  return node.kind == NodeKind::kScalar && scalar_kind(node) == ScalarKind::kBool;
}

unsigned key_line(const ConfigNode& map, std::string_view key) {
  const auto found = std::ranges::find(map.keys, key, &NodeKey::text);
  return found == map.keys.end() ? map.line : found->line;
}

}  // namespace tranche::os
