// SPDX-License-Identifier: Apache-2.0
#include "os/settings/schema.h"

#include <algorithm>

#include "base/text.h"

namespace tranche::os {
namespace {

KeyKind kind_of(ValueType type) {
  switch (type) {
    case ValueType::kBool: return KeyKind::kBool;
    case ValueType::kNumber: return KeyKind::kNumber;
    case ValueType::kDuration: return KeyKind::kDuration;
    case ValueType::kTextList: return KeyKind::kTextList;
    case ValueType::kNumberList: return KeyKind::kNumberList;
    case ValueType::kText:
    case ValueType::kChoice:
    case ValueType::kPath: break;
  }
  return KeyKind::kText;
}

}  // namespace

std::vector<std::string> KeySpec::words() const {
  if (flag != nullptr) return flag->allowed_words();
  return choices == nullptr ? std::vector<std::string>() : choices();
}

Schema::Schema(const std::vector<KeySpec>& structure, OptionTable options,
               std::span<const Synonym> synonyms)
    : synonyms_(synonyms) {
  for (const KeySpec& key : structure) {
    keys_.push_back(key);
    if (key.kind != KeyKind::kSection) continue;
    for (const Option& option : options) {
      if (option.key.empty() || parent_path(option.key) != key.path) continue;
      keys_.push_back({.path = std::string(option.key),
                       .kind = kind_of(option.type),
                       .flag = &option,
                       .fallback = option.shown_fallback(),
                       .help = option.help});
    }
  }
}

const KeySpec* Schema::find(std::string_view path) const {
  const auto found = std::ranges::find(keys_, path, &KeySpec::path);
  return found == keys_.end() ? nullptr : &*found;
}

std::vector<std::string> Schema::names_below(std::string_view path) const {
  std::vector<std::string> names;
  for (const KeySpec& key : keys_) {
    if (parent_path(key.path) == path) names.emplace_back(last_name(key.path));
  }
  return names;
}

std::string_view expected(const KeySpec& key) {
  switch (key.kind) {
    case KeyKind::kSection: return "a section with keys";
    case KeyKind::kRows: return "a list of sections";
    case KeyKind::kBool: return "true or false";
    case KeyKind::kNumber: return "a whole number";
    case KeyKind::kText: return "text";
    case KeyKind::kDuration: return "a duration with its unit, such as 5s";
    case KeyKind::kAnyDuration: return "a duration such as 60s";
    case KeyKind::kTextList: return "text or a list of texts";
    case KeyKind::kNumberList: return "a list of whole numbers";
    case KeyKind::kOwn: return key.takes;
    case KeyKind::kMemory: return "a size with its unit, such as 4GiB";
  }
  return "";
}

std::string_view last_name(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string_view parent_path(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

}  // namespace tranche::os
