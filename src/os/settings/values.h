// SPDX-License-Identifier: Apache-2.0
//
// The value of one setting: from the words that a person wrote to a checked
// value, and back. Where the words came from plays no part here. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/settings/option.h"

namespace tranche::os {

// What `words` mean for this setting: one word, or any number for a list. An
// error says what is expected and what was found, not where.
Result<Value> read_value(const Option& flag, const std::vector<std::string>& words);

// The words in a text from the command line or the environment: the items of
// a list are separated by commas.
std::vector<std::string> words_in(const Option& flag, std::string_view text);

Value default_value(const Option& flag);

// As it would be written on the command line.
std::string show(const Value& value);

// 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False.
std::optional<bool> parse_go_bool(std::string_view text);

// "allowed: a, b, c; did you mean 'b'?", for a word that is none of them.
std::string allowed_hint(std::string_view word, const std::vector<std::string>& allowed);

// Whether all of it is valid UTF-8 without control characters: what may be
// logged, printed as YAML and JSON, and given to the file system.
bool is_plain_text(std::string_view text);

// printable(), cut when it is long: for a message.
std::string brief(std::string_view text);

}  // namespace tranche::os
