// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "base/text.h"
#include "config/flag_table.h"
#include "config/help.h"
#include "config/schema.h"

namespace tranche {
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

std::string fallback_of(const FlagSpec& flag) {
  if (!flag.fallback_note.empty()) return cell(flag.fallback_note);
  return code(flag.fallback);
}

std::string flag_row(const FlagSpec& flag) {
  std::vector<std::string> names;
  if (!flag.name.empty()) names.push_back("--" + std::string(flag.name));
  for (const std::string_view alias : flag.aliases) {
    if (!alias.empty()) names.push_back("--" + std::string(alias));
  }
  std::string help = cell(flag.help);
  if (!flag.allowed.empty()) help += " Allowed: " + codes(flag.allowed_words()) + ".";
  return row({codes(names),
              codes({std::string(flag.environment[0]), std::string(flag.environment[1])}),
              code(flag.key), fallback_of(flag), help});
}

std::string flag_tables() {
  std::string text;
  const FlagSpec* previous = nullptr;
  for (const FlagSpec& flag : flag_table()) {
    if (previous == nullptr || previous->group != flag.group) {
      text += "\n### " + std::string(group_title(flag.group)) + "\n\n" +
              row({"Flag", "Environment", "Key in the file", "Default", "Meaning"}) +
              row({"---", "---", "---", "---", "---"});
    }
    text += flag_row(flag);
    previous = &flag;
  }
  return text;
}

std::string key_table(const Schema& schema) {
  std::string text =
      row({"Key", "Takes", "Default", "Meaning"}) + row({"---", "---", "---", "---"});
  for (const KeySpec& key : schema.keys()) {
    if (key.owner != KeyOwner::kOurs || key.flag != nullptr) continue;
    text +=
        row({code(key.path), std::string(expected(key.kind)), cell(key.fallback), cell(key.help)});
  }
  return text;
}

std::string foreign_table(const Schema& schema) {
  std::string text = row({"Key", "Takes"}) + row({"---", "---"});
  for (const KeySpec& key : schema.keys()) {
    if (key.owner == KeyOwner::kOurs) continue;
    text += row({code(key.path), std::string(expected(key.kind))});
  }
  return text;
}

}  // namespace

std::string reference_markdown() {
  const Schema schema;
  return "## Flags and variables\n" + flag_tables() + "\n## Keys that only the file has\n\n" +
         key_table(schema) + "\n## Keys of NVIDIA's other programs\n\n" +
         "They are checked for their form, reported in the log as not ours, and have no "
         "effect.\n\n" +
         foreign_table(schema);
}

}  // namespace tranche
