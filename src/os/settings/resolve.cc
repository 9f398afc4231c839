// SPDX-License-Identifier: Apache-2.0
#include "os/settings/resolve.h"

#include <optional>
#include <utility>

namespace tranche::os {
namespace {

// The words that the value would have on the command line; nothing when it is
// not of the setting's type, which shape.h has complained about.
std::optional<std::vector<std::string>> words_of(const Option& flag, const ConfigNode& node) {
  if (flag.is_list() && node.kind == NodeKind::kList) {
    std::vector<std::string> words;
    for (const ConfigNode& item : node.items) {
      if (item.kind != NodeKind::kScalar) return std::nullopt;
      words.push_back(item.text);
    }
    return words;
  }
  if (node.kind != NodeKind::kScalar) return std::nullopt;
  const ScalarKind kind = scalar_kind(node);
  if (flag.type == ValueType::kBool) {
    if (kind != ScalarKind::kBool) return std::nullopt;
    return std::vector<std::string>{scalar_truth(node) ? "true" : "false"};
  }
  if (kind != ScalarKind::kText) return std::nullopt;
  return std::vector<std::string>{node.text};
}

// A variable that is set and empty counts as NVIDIA's plugin counts it
// (urfave/cli v2): a boolean is false, a text is empty, a list has one empty
// item; a number or duration is not set.
std::optional<std::string> effective_text(const Option& flag, const std::string& text) {
  if (!text.empty()) return text;
  switch (flag.type) {
    case ValueType::kBool: return "false";
    case ValueType::kNumber:
    case ValueType::kDuration: return std::nullopt;
    default: return "";
  }
}

class Resolver {
 public:
  Resolver(const CommandLine& line, const Environment& environment, const FileValues& file)
      : line_(line), environment_(environment), file_(file) {}

  Setting resolve(const Option& flag) {
    if (auto setting = from_command_line(flag)) return *std::move(setting);
    if (auto setting = from_environment(flag)) return *std::move(setting);
    const auto found = flag.key.empty() ? file_.end() : file_.find(flag.key);
    if (found != file_.end()) return {&flag, found->second.value, found->second.origin};
    return {&flag, default_value(flag), {}};
  }

  std::vector<std::string> take_problems() { return std::move(problems_); }

 private:
  // Each occurrence is checked; the last wins, those of a list add up.
  std::optional<Setting> from_command_line(const Option& flag) {
    std::optional<Setting> setting;
    std::vector<std::string> items;
    for (const GivenFlag& given : line_.flags) {
      if (given.flag != &flag) continue;
      std::string text = flag.secret ? "--" + std::string(flag.name) : brief(given.as_written);
      Value value = flag.secret ? Value(std::string()) : read(flag, given.value, text);
      if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
        items.insert(items.end(), list->begin(), list->end());
        value = items;
        if (setting) text.insert(0, setting->origin.text + " ");
      }
      setting = Setting{&flag, std::move(value), {OriginKind::kFlag, std::move(text)}};
    }
    return setting;
  }

  std::optional<Setting> from_environment(const Option& flag) {
    for (const std::string& name : flag.variables()) {
      const auto found = environment_.find(name);
      if (found == environment_.end()) continue;
      const auto text = effective_text(flag, found->second);
      if (!text) return std::nullopt;
      return Setting{&flag, read(flag, *text, name), {OriginKind::kEnvironment, name}};
    }
    return std::nullopt;
  }

  // A value that is wrong is complained about, and the default stands in for
  // it while the rest is checked.
  Value read(const Option& flag, const std::string& text, const std::string& place) {
    Result<Value> value = read_value(flag, words_in(flag, text));
    if (value) return *std::move(value);
    problems_.push_back(place + ": " + value.error().message);
    return default_value(flag);
  }

  const CommandLine& line_;
  const Environment& environment_;
  const FileValues& file_;
  std::vector<std::string> problems_;
};

}  // namespace

FileValues read_file_values(OptionTable table, const ConfigNode& root, FileProblems& problems) {
  FileValues values;
  for (const Option& flag : table) {
    if (flag.key.empty()) continue;
    const FoundNode found = find_path(root, flag.key);
    if (found.value == nullptr) continue;
    const auto words = words_of(flag, *found.value);
    if (!words) continue;
    Result<Value> value = read_value(flag, *words);
    if (value) {
      values.emplace(flag.key,
                     FileValue{std::move(*value), {OriginKind::kFile, problems.place(found.line)}});
    } else {
      problems.add(found.line, std::string(flag.key), value.error().message);
    }
  }
  return values;
}

Resolution resolve(OptionTable table, const CommandLine& line, const Environment& environment,
                   const FileValues& file) {
  Resolver resolver(line, environment, file);
  std::vector<Setting> settings;
  for (const Option& option : table) settings.push_back(resolver.resolve(option));
  return {Resolved(std::move(settings)), resolver.take_problems()};
}

}  // namespace tranche::os
