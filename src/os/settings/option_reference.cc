// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "base/text.h"
#include "os/settings/option_help.h"

namespace tranche::os {
namespace {

// A cell must not end its row.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*') escaped += '\\';
    escaped += c;
  }
  return escaped.empty() ? "-" : escaped;
}

std::string code(std::string_view text) {
  return text.empty() ? "-" : "`" + std::string(text) + "`";
}

std::string codes(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) {
    if (!word.empty()) quoted.push_back(code(word));
  }
  return quoted.empty() ? "-" : join(quoted, ", ");
}

std::string row(const std::vector<std::string>& cells) {
  return "| " + join(cells, " | ") + " |\n";
}

std::string fallback_of(const Option& flag) {
  return flag.fallback_note.empty() ? code(flag.fallback) : cell(flag.fallback_note);
}

std::string flag_row(const Option& flag) {
  std::vector<std::string> names;
  if (!flag.name.empty()) names.push_back("--" + std::string(flag.name));
  for (const std::string_view alias : flag.aliases) {
    if (!alias.empty()) names.push_back("--" + std::string(alias));
  }
  std::string help = cell(flag.help);
  const std::vector<std::string> allowed = flag.allowed_words();
  if (!allowed.empty()) help += " Allowed: " + codes(allowed) + ".";
  return row({codes(names), codes(flag.variables()), code(flag.key), fallback_of(flag), help});
}

}  // namespace

std::string options_reference(OptionTable table) {
  std::string text;
  std::string_view group;
  for (const Option& option : table) {
    if (option.group != group) {
      text += "\n### " + std::string(option.group) + "\n\n" +
              row({"Flag", "Environment", "Key in the file", "Default", "Meaning"}) +
              row({"---", "---", "---", "---", "---"});
    }
    group = option.group;
    text += flag_row(option);
  }
  return text;
}

std::string keys_reference(const Schema& schema) {
  std::string text =
      row({"Key", "Takes", "Default", "Meaning"}) + row({"---", "---", "---", "---"});
  for (const KeySpec& key : schema.keys()) {
    if (!key.is_ours() || key.flag != nullptr) continue;
    text += row({code(key.path), std::string(expected(key)), cell(key.fallback), cell(key.help)});
  }
  return text;
}

std::string foreign_keys_reference(const Schema& schema) {
  std::string text = row({"Key", "Takes"}) + row({"---", "---"});
  for (const KeySpec& key : schema.keys()) {
    if (key.is_ours()) continue;
    text += row({code(key.path), std::string(expected(key))});
  }
  return text;
}

}  // namespace tranche::os
