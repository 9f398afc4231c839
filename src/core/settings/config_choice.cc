// SPDX-License-Identifier: Apache-2.0
#include "core/settings/config_choice.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace tranche::core {
namespace {

constexpr std::string_view kNamedFallback = "default";
constexpr std::size_t kLongestName = 253;  // of a ConfigMap's key
constexpr std::size_t kMostNames = 20;     // in a message

std::string shown(std::string_view text) {
  return printable(text.size() <= kLongestName ? text : text.substr(0, kLongestName));
}

std::string what_there_is(const NamedConfigOptions& options, const ConfigNames& names) {
  if (names.empty()) return fmt::format("{} has no configuration", options.folder);
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() == kMostNames) {
      some.push_back(fmt::format("{} more", names.size() - kMostNames));
      break;
    }
    some.push_back(name);
  }
  return fmt::format("{} has {}", options.folder, join(some, ", "));
}

Error missing(const std::string& wanted_by, const std::string& name,
              const NamedConfigOptions& options, const ConfigNames& names) {
  const auto near = nearest(shown(name), {names.begin(), names.end()});
  return {ErrorCode::kNotFound,
          fmt::format("{}: there is no configuration '{}'; {}{}", wanted_by, shown(name),
                      what_there_is(options, names),
                      near ? fmt::format("; did you mean '{}'?", *near) : "")};
}

std::optional<ConfigChoice> fall_back(ConfigFallback strategy, const ConfigNames& names) {
  switch (strategy) {
    case ConfigFallback::kNamed:
      if (!names.contains(std::string(kNamedFallback))) return std::nullopt;
      return ConfigChoice{std::string(kNamedFallback), ChosenBy::kNamed};
    case ConfigFallback::kSingle:
      if (names.size() != 1) return std::nullopt;
      return ConfigChoice{*names.begin(), ChosenBy::kSingle};
    case ConfigFallback::kEmpty: return ConfigChoice{"", ChosenBy::kEmpty};
  }
  return std::nullopt;
}

std::string strategies_text(const NamedConfigOptions& options) {
  std::vector<std::string> words;
  for (const ConfigFallback strategy : options.fallbacks) {
    words.emplace_back(text_of(kConfigFallbacks, strategy));
  }
  return words.empty() ? "there is no fallback strategy"
                       : fmt::format("no fallback strategy applies (of {})", join(words, ", "));
}

}  // namespace

bool is_config_name(std::string_view name) {
  return !name.empty() && name != "." && !name.starts_with("..") && name.size() <= kLongestName &&
         name.find('/') == std::string_view::npos && plain_prefix(name) == name.size();
}

ConfigNames config_names(const std::vector<std::string>& files) {
  ConfigNames names;
  std::ranges::copy_if(files, std::inserter(names, names.end()), is_config_name);
  return names;
}

Result<ConfigChoice> choose_config(const NamedConfigOptions& options, const std::string& label,
                                   const ConfigNames& names) {
  if (!label.empty()) {
    if (names.contains(label)) return ConfigChoice{label, ChosenBy::kLabel};
    return missing(fmt::format("label {}={} of the node", options.label, shown(label)), label,
                   options, names);
  }
  if (!options.default_name.empty()) {
    if (names.contains(options.default_name)) {
      return ConfigChoice{options.default_name, ChosenBy::kDefault};
    }
    return missing("--default-config=" + shown(options.default_name), options.default_name, options,
                   names);
  }
  for (const ConfigFallback strategy : options.fallbacks) {
    if (const auto choice = fall_back(strategy, names)) return *choice;
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("the node has no label {}, there is no --default-config, and {}; {}. "
                           "Label the node, or give a default",
                           options.label, strategies_text(options), what_there_is(options, names))};
}

ConfigCandidates configs_at_start(const NamedConfigOptions& options,
                                  const std::optional<std::string>& label, const ConfigNames& names,
                                  const std::optional<ConfigChoice>& remembered) {
  ConfigCandidates found;
  const auto add = [&](const ConfigChoice& choice) {
    const bool is_there = std::ranges::any_of(
        found.choices, [&](const ConfigChoice& other) { return other.name == choice.name; });
    if (!is_there) found.choices.push_back(choice);
  };
  if (label) {
    const Result<ConfigChoice> wanted = choose_config(options, *label, names);
    if (wanted) {
      add(*wanted);
    } else {
      found.problem = wanted.error().message;
    }
  }
  if (remembered && (remembered->name.empty() || names.contains(remembered->name))) {
    ConfigChoice before = *remembered;
    before.is_remembered = true;
    add(before);
  }
  const Result<ConfigChoice> usual = choose_config(options, "", names);
  if (usual) {
    add(*usual);
  } else if (found.choices.empty() && found.problem.empty()) {
    found.problem = usual.error().message;
  }
  return found;
}

std::string reason_text(const NamedConfigOptions& options, const ConfigChoice& choice) {
  const std::string text = [&]() -> std::string {
    switch (choice.by) {
      case ChosenBy::kLabel: return fmt::format("label {}={}", options.label, choice.name);
      case ChosenBy::kDefault: return "--default-config";
      case ChosenBy::kNamed: return "fallback strategy named";
      case ChosenBy::kSingle: return "fallback strategy single";
      case ChosenBy::kEmpty: return "fallback strategy empty";
    }
    return "?";
  }();
  return choice.is_remembered ? "memory of an earlier run: " + text : text;
}

}  // namespace tranche::core
