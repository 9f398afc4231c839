// SPDX-License-Identifier: Apache-2.0
#include "os/settings/option_help.h"

#include <vector>

#include "base/text.h"

namespace tranche::os {
namespace {

constexpr std::size_t kWidth = 100;

std::string value_word(const Option& flag) {
  if (!flag.placeholder.empty()) return " " + std::string(flag.placeholder);
  switch (flag.type) {
    case ValueType::kBool: return "";
    case ValueType::kNumber: return " N";
    case ValueType::kDuration: return " DURATION";
    case ValueType::kChoice: return " " + join(flag.allowed_words(), "|");
    case ValueType::kPath: return " PATH";
    case ValueType::kTextList: return " LIST";
    case ValueType::kNumberList: return " NUMBERS";
    case ValueType::kText: break;
  }
  return " TEXT";
}

std::string flag_line(const Option& flag) {
  if (flag.name.empty()) return "  " + std::string(flag.environment[0]) + "  (environment only)\n";
  std::string names = "--" + std::string(flag.name);
  for (const std::string_view alias : flag.aliases) {
    if (!alias.empty()) names += (alias.size() == 1 ? ", -" : ", --") + std::string(alias);
  }
  return "  " + names + value_word(flag) + "\n";
}

// "Default 5s. Environment HEALTH_CHECK_INTERVAL, file tranche.healthCheckInterval."
std::string sources_of(const Option& flag) {
  std::vector<std::string> sources;
  const std::vector<std::string> variables = flag.variables();
  if (!flag.name.empty() && !variables.empty()) {
    sources.push_back("environment " + join(variables, " or "));
  }
  if (!flag.key.empty()) sources.push_back("file " + std::string(flag.key));
  std::string text;
  const std::string_view fallback = flag.shown_fallback();
  if (!fallback.empty()) text += "default " + std::string(fallback);
  if (!sources.empty()) text += (text.empty() ? "" : "; ") + join(sources, ", ");
  return text.empty() ? "" : "[" + text + "]";
}

std::string describe_flag(const Option& flag) {
  std::string text(flag.help);
  if (flag.type == ValueType::kTextList && !flag.allowed_words().empty()) {
    text += " Of: " + join(flag.allowed_words(), ", ") + ".";
  }
  std::string described = flag_line(flag) + wrap(text, 6);
  if (const std::string sources = sources_of(flag); !sources.empty()) described += wrap(sources, 6);
  return described;
}

}  // namespace

std::string wrap(std::string_view text, std::size_t indent) {
  std::string wrapped;
  std::string line(indent, ' ');
  for (const std::string& word : split(text, ' ')) {
    const bool first = line.size() == indent;
    if (!first && line.size() + 1 + word.size() > kWidth) {
      wrapped += line + "\n";
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return wrapped + line + "\n";
}

std::string synopsis(const Option& option) {
  for (const std::string_view alias : option.aliases) {
    if (alias.size() == 1) return "-" + std::string(alias) + value_word(option);
  }
  return "--" + std::string(option.name) + value_word(option);
}

std::string options_help(OptionTable table) {
  std::string text;
  std::string_view group;
  for (const Option& option : table) {
    if (option.group != group) text += "\n" + std::string(option.group) + ":\n";
    group = option.group;
    text += describe_flag(option);
  }
  return text;
}

}  // namespace tranche::os
