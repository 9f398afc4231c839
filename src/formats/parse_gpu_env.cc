// SPDX-License-Identifier: Apache-2.0
#include "formats/parse_gpu_env.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"

namespace tranche::formats {
namespace {

// Longer than any id; a longer word is something else.
constexpr std::size_t kLongestName = 256;
constexpr std::string_view kExpected =
    "it should be one line of GPU uuids with commas between them";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_text(char c) { return (c > ' ' && c < 0x7f) || is_space(c) || c == '\n'; }

// The variable that our own host sets. In a file that has it nothing else counts, because another
// variable may list all GPUs of the node.
constexpr std::string_view kAllocated = "NVIDIA_ALLOCATED_DEVICES";

// A line as a shell would read it.
struct Line {
  std::string_view variable;  // empty: a plain line
  std::string_view text;
};

Line read_line(std::string_view line) {
  constexpr std::string_view kExport = "export ";
  line = trim(line.substr(0, line.find('#')));
  if (line.starts_with(kExport)) line = trim(line.substr(kExport.size()));
  const std::size_t equals = line.find('=');
  if (equals == line.npos || equals == 0) return {{}, line};
  const std::string_view name = line.substr(0, equals);
  const bool is_name =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return is_name ? Line{name, line.substr(equals + 1)} : Line{{}, line};
}

// Those that count.
Result<std::vector<Line>> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::set<std::string_view> variables;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const Line line = read_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.variable.empty()) variables.insert(line.variable);
    if (!line.variable.empty() || !line.text.empty()) lines.push_back(line);
  }
  if (variables.contains(kAllocated)) {
    std::erase_if(lines, [](const Line& line) { return line.variable != kAllocated; });
  } else if (variables.size() > 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("it sets several variables, and none of them is {}", kAllocated)};
  }
  return lines;
}

// Whether the word may be a uuid, an index, or the name of a device node.
bool may_be_device(std::string_view word) {
  if (word.starts_with("GPU-") || word.starts_with("MIG-")) return true;
  if (word.starts_with("nvidia")) word.remove_prefix(6);
  const std::size_t colon = std::min(word.find(':'), word.size());
  const bool has_slice = colon < word.size();
  return parse_number<unsigned>(word.substr(0, colon)) &&
         (!has_slice || parse_number<unsigned>(word.substr(colon + 1)));
}

std::string brief(std::string_view word) {
  constexpr std::size_t kMost = 40;
  return fmt::format("'{}{}'", word.substr(0, kMost), word.size() > kMost ? "…" : "");
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
                 fmt::format("byte {} is {}, which no list of GPUs has: {}", bad - text.begin() + 1,
                             unsigned{static_cast<unsigned char>(*bad)}, kExpected)};
  }
  const Result<std::vector<Line>> lines = lines_of(text);
  if (!lines) return lines.error();
  GpuEnv env;
  std::set<std::string_view> seen;
  for (const Line& line : *lines) {
    for (const std::string_view word : words_of(line.text)) {
      if (word == "none" || word == "void") continue;
      if (word == "all") {
        env.all = true;
        continue;
      }
      const std::string_view name = device_of(word);
      if (!may_be_device(name) || word.size() > kLongestName) {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("{} is no GPU: {}", brief(word), kExpected)};
      }
      if (seen.insert(name).second) env.names.emplace_back(name);
    }
  }
  return env;
}

}  // namespace tranche::formats
