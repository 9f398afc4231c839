// SPDX-License-Identifier: Apache-2.0
#include "testbed/tool/arguments.h"

#include <algorithm>

#include "os/settings/command_line.h"
#include "os/settings/option_help.h"
#include "os/settings/values.h"

namespace tranche::testbed::sim {
namespace {

constexpr auto kOptions = flags_only(
    "Options",
    {
        {.name = "world", .placeholder = "WORLD"},
        {.name = "root", .placeholder = "FOLDER"},
        {.name = "library", .placeholder = "FILE"},
        {.name = "plain-files", .type = ValueType::kBool},
        {.name = "gpu", .placeholder = "G"},
        {.name = "xid", .placeholder = "N"},
        {.name = "gi", .placeholder = "N"},
        {.name = "ci", .placeholder = "N"},
        {.name = "route", .placeholder = "event|log|both"},
        {.name = "pid", .placeholder = "N"},
        {.name = "process", .placeholder = "NAME"},
        {.name = "text", .placeholder = "TEXT"},
        {.name = "action", .placeholder = "none|reset|reboot|drain-p2p|drain-and-reset|…"},
        {.name = "type", .placeholder = "MASK"},
        {.name = "data", .placeholder = "N"},
        {.name = "layout", .placeholder = "3g.40gb,2g.20gb:1c:1c"},
        {.name = "index", .placeholder = "N"},
        {.name = "model", .placeholder = "M"},
        {.name = "pci", .placeholder = "ADDRESS"},
        {.name = "uuid", .placeholder = "U"},
        {.name = "minor", .placeholder = "N"},
        {.name = "numa", .placeholder = "N"},
        {.name = "memory-mib", .placeholder = "N"},
        {.name = "name", .placeholder = "S"},
        {.name = "kind", .placeholder = "K"},
        {.name = "sm", .placeholder = "P"},
        {.name = "memory", .placeholder = "P"},
        {.name = "state", .placeholder = "STATE"},
        {.name = "link", .placeholder = "N"},
        {.name = "temperature", .placeholder = "C"},
        {.name = "power-mw", .placeholder = "N"},
        {.name = "energy-mj", .placeholder = "N"},
        {.name = "pcie-replays", .placeholder = "N"},
        {.name = "utilization", .placeholder = "P"},
        {.name = "version", .placeholder = "V"},
        {.name = "boot-id", .placeholder = "ID"},
        {.name = "call", .placeholder = "NAME"},
        {.name = "code", .placeholder = "CODE"},
        {.name = "times", .placeholder = "N"},
        {.name = "field", .placeholder = "N"},
    });

}  // namespace

Arguments::Arguments(const std::vector<std::string>& words) {
  CommandLine line = parse_command_line(kOptions, words, {.version = false});
  words_ = std::move(line.positionals);
  for (const std::string& problem : line.problems) add_problem(problem);
  // finish() has the nearest of the flags that the command takes.
  for (const std::string& name : line.unknown) flags_.emplace(name, "");
  for (const GivenFlag& given : line.flags) {
    const std::string name(given.flag->name);
    if (!flags_.emplace(name, given.value).second) add_problem("--" + name + " is given twice");
  }
}

std::string Arguments::word() {
  if (words_.empty()) return "";
  std::string first = words_.front();
  words_.erase(words_.begin());
  return first;
}

std::optional<std::string> Arguments::text(const std::string& flag) {
  asked_.push_back(flag);
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return std::nullopt;
  return found->second;
}

std::string Arguments::needed(const std::string& flag) {
  const auto value = text(flag);
  if (!value) add_problem("--" + flag + " is missing");
  return value.value_or("");
}

bool Arguments::given(const std::string& flag) {
  return parse_go_bool(text(flag).value_or("false")).value_or(true);
}

void Arguments::add_problem(const std::string& problem) {
  if (!problem_) problem_ = Error{ErrorCode::kInvalidArgument, problem};
}

Status Arguments::finish() {
  for (const auto& [flag, value] : flags_) {
    if (std::ranges::count(asked_, flag) > 0) continue;
    const auto meant = nearest(flag, asked_);
    // Before all else: a misspelt flag is why another one is missing.
    return Error{ErrorCode::kInvalidArgument,
                 "unknown flag --" + flag + (meant ? "; did you mean --" + *meant + "?" : "")};
  }
  if (!words_.empty()) add_problem("'" + words_.front() + "' is one word too many");
  if (problem_) return *problem_;
  return Done{};
}

std::string synopsis(std::string_view names) {
  std::string text;
  for (const std::string& word : split(names, ' ')) {
    const std::size_t start = word.starts_with('[') ? 1 : 0;
    const std::size_t end = word.find_first_of("=]");
    const Option* option = find_option(kOptions, word.substr(start, end - start));
    text += (text.empty() ? "" : " ") + word.substr(0, start);
    if (option == nullptr) {
      text += word.substr(start);
      continue;
    }
    Option shown = *option;
    const bool has_own = end != std::string::npos && word[end] == '=';
    if (has_own) shown.placeholder = std::string_view(word).substr(end + 1);
    text += os::synopsis(shown);
    if (!has_own && end != std::string::npos) text += word.substr(end);
  }
  return text;
}

}  // namespace tranche::testbed::sim
