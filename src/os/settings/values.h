// SPDX-License-Identifier: Apache-2.0
//
// The value of one setting: from the words that a person wrote to a checked value, and back. The
// origin does not matter here. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/settings/option.h"

namespace tranche::os {

// Reads one word, or any number for a list. An error says what was expected and found, not where.
Result<Value> read_value(const Option& flag, const std::vector<std::string>& words);

// Splits a text from the command line or the environment: commas separate the items of a list.
std::vector<std::string> words_in(const Option& flag, std::string_view text);

Value default_value(const Option& flag);

// In command line form.
std::string show(const Value& value);

// 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False.
std::optional<bool> parse_go_bool(std::string_view text);

// "allowed: a, b, c; did you mean 'b'?", for an invalid word.
std::string allowed_hint(std::string_view word, const std::vector<std::string>& allowed);

// Whether all of it is valid UTF-8 without control characters, and so may be logged, printed as
// YAML and JSON, and passed to the file system.
bool is_plain_text(std::string_view text);

// printable(), truncated for messages.
std::string brief(std::string_view text);

}  // namespace tranche::os
