// SPDX-License-Identifier: Apache-2.0
#include "os/settings/values.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/text.h"
#include "os/settings/go_duration.h"

namespace tranche::os {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLeastInterval{100};
constexpr milliseconds kMostInterval = std::chrono::hours(24);

Error refused(const std::string& why) { return {ErrorCode::kInvalidArgument, why}; }

Result<Value> read_bool(const std::string& word) {
  const auto parsed = parse_go_bool(word);
  if (!parsed) return refused(fmt::format("expected true or false, found '{}'", brief(word)));
  return Value(*parsed);
}

Result<Value> read_unsigned(const std::string& word) {
  const auto parsed = parse_number<unsigned>(word);
  if (!parsed) {
    return refused(fmt::format("expected a whole number of 0 or more, found '{}'", brief(word)));
  }
  return Value(*parsed);
}

Result<Value> read_duration(const std::string& word) {
  const auto parsed = parse_go_duration(word);
  if (!parsed) {
    return refused("expected a duration with its unit, such as 500ms or 5s, found '" + brief(word) +
                   "'");
  }
  if (*parsed < kLeastInterval || *parsed > kMostInterval) {
    return refused(fmt::format("must be from 100ms to 24h, found '{}'", brief(word)));
  }
  return Value(std::chrono::duration_cast<milliseconds>(*parsed));
}

Status check_allowed(const Option& flag, const std::string& word) {
  const std::vector<std::string> allowed = flag.allowed_words();
  if (allowed.empty() || std::ranges::find(allowed, word) != allowed.end()) return Done{};
  const std::vector<std::string> understood = split(flag.refused, ',');
  if (!word.empty() && std::ranges::find(understood, word) != understood.end()) return Done{};
  return refused(
      fmt::format("{}{} ({})", flag.complaint, brief(word), allowed_hint(word, allowed)));
}

Result<Value> read_text(const Option& flag, const std::string& word) {
  if (Status allowed = check_allowed(flag, word); !allowed) return allowed.error();
  if (flag.type == ValueType::kPath && !word.empty() && !word.starts_with('/')) {
    return refused(fmt::format("expected an absolute path, found '{}'", brief(word)));
  }
  if (flag.to[0].check != nullptr) {
    if (Status parsed = flag.to[0].check(word); !parsed) return parsed.error();
  }
  return Value(word);
}

bool is_numeral(const std::string& word) { return parse_number<std::int64_t>(word).has_value(); }

Result<Value> read_list(const Option& flag, const std::vector<std::string>& words) {
  std::vector<std::string> items;
  for (const std::string& word : words) {
    if (flag.type == ValueType::kNumberList && !is_numeral(word)) {
      return refused(fmt::format("expected whole numbers, found '{}'", brief(word)));
    }
    // An empty word is not an item. But NVIDIA's plugin refuses an empty strategy, and so do we:
    // it is most likely a variable that failed to expand.
    if (word.empty() && flag.fallback.empty()) continue;
    if (Status allowed = check_allowed(flag, word); !allowed) return allowed.error();
    items.push_back(word);
  }
  if (items.empty() && !flag.fallback.empty()) {
    return refused("invalid --" + std::string(flag.name) +
                   " option: none is given (at least one of " + join(flag.allowed_words(), ", ") +
                   " is required)");
  }
  return Value(items);
}

}  // namespace

Result<Value> read_value(const Option& flag, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!is_plain_text(word)) {
      return refused("has a control character or is not valid UTF-8; write plain text");
    }
  }
  if (flag.is_list()) return read_list(flag, words);
  if (words.size() != 1) return refused("expected one value");
  switch (flag.type) {
    case ValueType::kBool: return read_bool(words[0]);
    case ValueType::kNumber: return read_unsigned(words[0]);
    case ValueType::kDuration: return read_duration(words[0]);
    default: return read_text(flag, words[0]);
  }
}

std::vector<std::string> words_in(const Option& flag, std::string_view text) {
  if (!flag.is_list()) return {std::string(text)};
  std::vector<std::string> words = split(text, ',');
  for (std::string& word : words) word = trim(word);
  return words;
}

Value default_value(const Option& flag) {
  if (flag.is_list() && flag.fallback.empty()) return std::vector<std::string>{};
  if (flag.type == ValueType::kBool && flag.fallback.empty()) return false;
  if (flag.to[0].check != nullptr && flag.fallback.empty()) return std::string();
  return *read_value(flag, words_in(flag, flag.fallback));
}

std::string show(const Value& value) {
  struct Shown {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(unsigned number) const { return std::to_string(number); }
    std::string operator()(milliseconds duration) const { return go_duration(duration); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<std::string>& list) const { return join(list, ","); }
  };
  return std::visit(Shown{}, value);
}

std::optional<bool> parse_go_bool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return std::nullopt;
}

std::string allowed_hint(std::string_view word, const std::vector<std::string>& allowed) {
  std::string hint = "allowed: " + join(allowed, ", ");
  // Word processors make “ ” ‘ ’, three bytes each, the first two the same.
  if (word.find("\xE2\x80") != std::string_view::npos) {
    return hint + "; the quotes are typographic ones, write plain ones or none";
  }
  if (const auto near = nearest(brief(word), allowed)) {
    hint += fmt::format("; did you mean '{}'?", *near);
  }
  return hint;
}

std::string brief(std::string_view text) {
  constexpr std::size_t kMost = 100;
  if (text.size() <= kMost) return printable(text);
  // Does not cut through a character.
  const std::string_view start = text.substr(0, kMost);
  const std::size_t valid = valid_utf8_prefix(start);
  return printable(start.substr(0, kMost - valid < 4 ? valid : kMost)) + "...";
}

bool is_plain_text(std::string_view text) { return plain_prefix(text) == text.size(); }

}  // namespace tranche::os
