// SPDX-License-Identifier: Apache-2.0
#include "os/settings/shape.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "os/settings/go_duration.h"
#include "os/settings/values.h"
#include "os/settings/yaml_advice.h"

namespace tranche::os {
namespace {

// Bounds the log for a file of nothing but wrong keys.
constexpr std::size_t kMostProblems = 100;

struct Place {
  std::string path;   // in the schema: "resources.gpus[].name"
  std::string shown;  // for people: "resources.gpus[0].name"

  Place child(const std::string& key) const {
    const std::string dot = path.empty() ? "" : ".";
    return {path + dot + key, shown + dot + key};
  }
  Place row(std::size_t index) const { return {path + "[]", fmt::format("{}[{}]", shown, index)}; }
};

bool is_any_duration(const ConfigNode& node) {
  if (node.kind != NodeKind::kScalar) return false;
  const ScalarKind kind = scalar_kind(node);
  return kind == ScalarKind::kInteger || kind == ScalarKind::kFloat || node.text == "infinite" ||
         (kind == ScalarKind::kText && parse_go_duration(node.text));
}

bool fits(KeyKind kind, const ConfigNode& node) {
  const auto text_or_integer = [](const ConfigNode& item) {
    return is_text(item) || is_integer(item);
  };
  switch (kind) {
    case KeyKind::kSection: return node.kind == NodeKind::kMap;
    case KeyKind::kRows: return node.kind == NodeKind::kList;
    case KeyKind::kBool: return is_bool(node);
    case KeyKind::kNumber: return is_integer(node);
    case KeyKind::kText:
    case KeyKind::kMemory:
    case KeyKind::kDuration: return is_text(node);
    case KeyKind::kAnyDuration: return is_any_duration(node);
    case KeyKind::kTextList:
      return is_text(node) ||
             (node.kind == NodeKind::kList && std::ranges::all_of(node.items, text_or_integer));
    case KeyKind::kNumberList:
      return node.kind == NodeKind::kList && std::ranges::all_of(node.items, is_integer);
    case KeyKind::kOwn: return true;  // checked by the program
  }
  return false;
}

// "text (none, single or mixed)" if only these words are allowed.
std::string expectation(const KeySpec& spec) {
  std::vector<std::string> words = spec.words();
  std::string what(expected(spec));
  if (words.empty()) return what;
  const std::string last = words.back();
  words.pop_back();
  return fmt::format("{} ({}{}{})", what, join(words, ", "), words.empty() ? "" : " or ", last);
}

// Advice for a value of the wrong type.
std::string advice_for_scalar(const KeySpec& spec, const ConfigNode& node) {
  const std::vector<std::string> words = spec.words();
  const auto meant = [&](const std::string& word) {
    return std::ranges::find(words, word) == words.end()
               ? ""
               : fmt::format("; did you mean '{}'?", word);
  };
  switch (spec.kind) {
    case KeyKind::kText:
      if (!words.empty() && is_bool(node)) return meant(scalar_truth(node) ? "auto" : "none");
      if (!words.empty()) return meant("v" + node.text);
      return is_text(node) ? "" : " (put it in quotes)";
    case KeyKind::kBool:
    case KeyKind::kNumber: return node.quoted ? " (leave out the quotes)" : "";
    case KeyKind::kDuration:
      return is_integer(node) ? fmt::format("; did you mean {}s?", node.text) : "";
    case KeyKind::kMemory:
      return is_integer(node) ? fmt::format(" (give its unit: {0}MiB or {0}GiB)", node.text) : "";
    case KeyKind::kTextList:
    case KeyKind::kNumberList:
      return words.empty() && is_integer(node)
                 ? fmt::format("; write [{}] for a list of it alone", node.text)
                 : "";
    default: return "";
  }
}

std::string advice(const Schema& schema, const KeySpec& spec, const ConfigNode& node) {
  if (spec.kind == KeyKind::kRows && node.kind == NodeKind::kMap) {
    return " (begin each row with '- ')";
  }
  if (spec.kind == KeyKind::kSection) {
    const std::string spaced =
        node.kind == NodeKind::kScalar && !node.quoted ? with_space_behind_colon(node.text) : "";
    if (!spaced.empty()) return fmt::format("; a space is missing: write '{}'", brief(spaced));
    return fmt::format(" (known here: {})", join(schema.names_below(spec.path), ", "));
  }
  return node.kind == NodeKind::kScalar ? advice_for_scalar(spec, node) : "";
}

class ShapeCheck {
 public:
  ShapeCheck(const Schema& schema, FileProblems& problems) : schema_(schema), problems_(problems) {}

  void check_section(const Place& place, const ConfigNode& section) {
    std::map<std::string, unsigned> seen;
    for (std::size_t i = 0; i < section.keys.size(); ++i) {
      const NodeKey& key = section.keys[i];
      const auto [first, is_new] = seen.emplace(key.text, key.line);
      // Extension keys hold anchors: their content has an effect only where an alias uses it.
      if (place.path.empty() && key.text.starts_with("x-")) continue;
      const Place child = place.child(key.text);
      const KeySpec* spec = schema_.find(child.path);
      // A key with a dot or brackets must not match a path.
      if (spec == nullptr || last_name(spec->path) != key.text) {
        if (count_ < kMostProblems) complain(key.line, place.shown, unknown(place, key.text));
      } else if (!is_new) {
        complain(key.line, child.shown,
                 fmt::format("given twice, first on line {}", first->second));
      } else {
        check_value(*spec, child, section.items[i], key.line);
      }
    }
  }

 private:
  void complain(unsigned line, const std::string& key, const std::string& what) {
    if (++count_ <= kMostProblems) problems_.add(line, key, what);
  }

  void check_value(const KeySpec& spec, const Place& place, const ConfigNode& node, unsigned line) {
    if (!spec.is_ours() && node.kind != NodeKind::kNull && spec.kind != KeyKind::kSection) {
      problems_.remark(line, place.shown,
                       fmt::format("belongs to {}: not ours, without effect here", spec.owner));
    }
    // A key without a value counts as unset, as in NVIDIA's plugin.
    if (node.kind == NodeKind::kNull) return;
    if (!fits(spec.kind, node)) {
      complain(line, place.shown,
               "expected " + expectation(spec) + ", found " + culprit(spec.kind, node) +
                   advice(schema_, spec, node));
      return;
    }
    if (spec.kind == KeyKind::kSection) check_section(place, node);
    if (spec.kind == KeyKind::kRows) check_rows(place, node);
  }

  // Describes the value or, in a list, the wrong item.
  static std::string culprit(KeyKind kind, const ConfigNode& node) {
    if (kind != KeyKind::kTextList && kind != KeyKind::kNumberList) return describe(node);
    for (const ConfigNode& item : node.items) {
      const bool good = is_integer(item) || (kind == KeyKind::kTextList && is_text(item));
      if (node.kind == NodeKind::kList && !good) return describe(item) + " in the list";
    }
    return describe(node);
  }

  void check_rows(const Place& place, const ConfigNode& list) {
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const Place row = place.row(i);
      const ConfigNode& item = list.items[i];
      if (item.kind == NodeKind::kMap) {
        check_section(row, item);
      } else {
        complain(item.line, row.shown, "expected a section with keys, found " + describe(item));
      }
    }
  }

  // Explains an unknown key and suggests another.
  std::string unknown(const Place& place, const std::string& given) const {
    const std::string key = brief(given);
    const std::string what = fmt::format("unknown key '{}'; ", key);
    const std::vector<std::string> siblings = schema_.names_below(place.path);
    const auto same = std::ranges::find(siblings, lower(key), lower);
    if (same != siblings.end()) return fmt::format("{}did you mean '{}'?", what, *same);
    for (const Synonym& synonym : schema_.synonyms()) {
      if (synonym.section == place.path && synonym.written == key) {
        return fmt::format("{}here it is '{}'", what, synonym.meant);
      }
    }
    const std::vector<std::string> homes = paths_of(key);
    if (!homes.empty()) {
      return fmt::format("misplaced key '{}'; it belongs at {}", key, join(homes, " or "));
    }
    if (const auto near = nearest(key, siblings)) {
      return fmt::format("{}did you mean '{}'?", what, *near);
    }
    std::vector<std::string> names;
    for (const KeySpec& spec : schema_.keys()) names.emplace_back(last_name(spec.path));
    if (const auto near = nearest(key, names)) {
      return fmt::format("{}did you mean {}?", what, paths_of(*near).front());
    }
    return fmt::format("{}known here: {}", what, join(siblings, ", "));
  }

  // All places where a key of this name belongs.
  std::vector<std::string> paths_of(std::string_view name) const {
    std::vector<std::string> paths;
    for (const KeySpec& spec : schema_.keys()) {
      if (last_name(spec.path) == name) paths.emplace_back(spec.path);
    }
    return paths;
  }

  const Schema& schema_;
  FileProblems& problems_;
  std::size_t count_ = 0;
};

}  // namespace

void check_shape(const Schema& schema, const ConfigNode& root, FileProblems& problems) {
  if (root.kind == NodeKind::kNull) return;
  if (root.kind != NodeKind::kMap) {
    const std::string spaced =
        root.kind == NodeKind::kScalar ? with_space_behind_colon(root.text) : "";
    std::vector<std::string> first = schema.names_below("");
    first.resize(std::min<std::size_t>(first.size(), 2));
    problems.add(
        root.line, "",
        "expected a map with keys such as " + join(first, " and ") + ", found " + describe(root) +
            (spaced.empty() ? "" : fmt::format("; a space is missing: write '{}'", brief(spaced))));
    return;
  }
  ShapeCheck(schema, problems).check_section({}, root);
}

}  // namespace tranche::os
