// SPDX-License-Identifier: Apache-2.0
#include "config/file_reader.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "config/file_problems.h"
#include "config/schema.h"
#include "config/shape.h"

namespace tranche {
namespace {

struct Found {
  const ConfigNode* value = nullptr;
  unsigned line = 0;  // of the key
};

// What lies at "flags.plugin.passDeviceSpecs"; no value when it is not given.
Found find_path(const ConfigNode& root, std::string_view path) {
  Found found{&root, root.line};
  for (const std::string& name : split(path, '.')) {
    const ConfigNode& map = *found.value;
    const ConfigNode* item = map.kind == NodeKind::kMap ? find_item(map, name) : nullptr;
    if (item == nullptr || item->kind == NodeKind::kNull) return {};
    found = {item, map.keys[static_cast<std::size_t>(item - map.items.data())].line};
  }
  return found;
}

// The words that the value would have on the command line; nothing when it is
// not of the setting's type, which shape.h has complained about.
std::optional<std::vector<std::string>> words_of(const FlagSpec& flag, const ConfigNode& node) {
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

void read_values(const ConfigNode& root, FileContent& content, FileProblems& problems) {
  for (const FlagSpec& flag : flag_table()) {
    if (flag.key.empty()) continue;
    const Found found = find_path(root, flag.key);
    if (found.value == nullptr) continue;
    const auto words = words_of(flag, *found.value);
    if (!words) continue;
    Result<Value> value = read_value(flag, *words);
    if (value) {
      content.values.emplace(
          flag.key, FileValue{std::move(*value), {OriginKind::kFile, problems.place(found.line)}});
    } else {
      problems.add(found.line, std::string(flag.key), value.error().message);
    }
  }
}

void check_version(const ConfigNode& root, FileProblems& problems) {
  const Found version = find_path(root, "version");
  if (version.value == nullptr || version.value->kind != NodeKind::kScalar) return;
  const std::string& text = version.value->text;
  if (!text.empty() && text != "v1") {
    problems.add(version.line, "version", "unknown version: " + brief(text) + " (allowed: v1)");
  }
}

}  // namespace

FileContent read_config(const ConfigText& file) {
  FileContent content;
  FileProblems problems(file.path);
  const Result<ConfigNode> root = parse_document(file);
  if (!root) {
    content.problems.push_back(root.error().message);
    return content;
  }
  check_shape(Schema(), *root, problems);
  check_version(*root, problems);
  read_values(*root, content, problems);
  content.sharing = read_sharing(*root, problems);
  content.problems = problems.sorted();
  content.notices = problems.remarks();
  return content;
}

}  // namespace tranche
