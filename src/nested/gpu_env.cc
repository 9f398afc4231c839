// SPDX-License-Identifier: Apache-2.0
#include "nested/gpu_env.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"

namespace tranche {
namespace {

// Longer than any id; a longer word is something else.
constexpr std::size_t kLongestName = 256;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_text(char c) { return (c > ' ' && c < 0x7f) || is_space(c) || c == '\n'; }

// The part behind "NAME=", where the line begins so.
std::string_view without_variable(std::string_view line) {
  constexpr std::string_view kExport = "export ";
  line = trim(line);
  if (line.starts_with(kExport)) line = trim(line.substr(kExport.size()));
  const std::size_t equals = line.find('=');
  if (equals == line.npos || equals == 0) return line;
  const bool is_name = std::ranges::all_of(
      line.substr(0, equals), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return is_name ? line.substr(equals + 1) : line;
}

std::string_view without_quotes(std::string_view word) {
  while (!word.empty() && (word.front() == '"' || word.front() == '\'')) word.remove_prefix(1);
  while (!word.empty() && (word.back() == '"' || word.back() == '\'')) word.remove_suffix(1);
  return word;
}

// The device of a share: "GPU-8f1c…::3" and "GPU-8f1c…-_-3" are of GPU-8f1c….
std::string_view device_of(std::string_view word) {
  return word.substr(0, std::min(word.find("::"), word.find("-_-")));
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] != ',' && !is_space(line[i])) continue;
    const std::string_view word = without_quotes(line.substr(begin, i - begin));
    if (!word.empty()) words.push_back(word);
    begin = i + 1;
  }
  return words;
}

}  // namespace

Result<GpuEnv> parse_gpu_env(std::string_view text) {
  if (const auto bad = std::ranges::find_if_not(text, is_text); bad != text.end()) {
    return Error{ErrorCode::kInvalidArgument,
                 "byte " + std::to_string(bad - text.begin() + 1) + " is " +
                     std::to_string(static_cast<unsigned char>(*bad)) +
                     ", which no list of GPUs has; it should be one line of GPU uuids with commas "
                     "between them"};
  }
  GpuEnv env;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    for (const std::string_view word : words_of(without_variable(line))) {
      if (word.size() > kLongestName) {
        return Error{ErrorCode::kInvalidArgument,
                     "'" + std::string(word.substr(0, 40)) + "…' is too long for a GPU's uuid"};
      }
      if (word == "none" || word == "void") continue;
      if (word == "all") {
        env.all = true;
      } else if (const std::string_view name = device_of(word); seen.insert(name).second) {
        env.names.emplace_back(name);
      }
    }
  }
  return env;
}

}  // namespace tranche
