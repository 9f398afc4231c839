// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "base/text.h"
#include "os/settings/effective.h"
#include "os/settings/values.h"

namespace tranche::os {
namespace {

constexpr std::size_t kRemarkColumn = 56;

bool is_plain_word(const std::string& text) {
  constexpr std::string_view kStart =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/";
  constexpr std::array<std::string_view, 3> kNulls = {"null", "Null", "NULL"};
  const bool looks_plain =
      !text.empty() && kStart.find(text.front()) != std::string_view::npos &&
      std::ranges::all_of(text, [&](char c) {
        return kStart.find(c) != std::string_view::npos || c == '.' || c == '-' || c == '_';
      });
  return looks_plain && std::ranges::find(kNulls, text) == kNulls.end() &&
         scalar_kind({.kind = NodeKind::kScalar, .text = text}) == ScalarKind::kText;
}

std::string scalar(const ConfigNode& node) {
  if (!node.quoted || is_plain_word(node.text)) return node.text;
  std::string quoted = "\"";
  for (const char c : node.text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

class YamlWriter {
 public:
  std::string take() { return std::move(out_); }

  void write_map(const ConfigNode& map, std::size_t indent) {
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
      // The first key of a row follows the row's dash.
      const std::string margin = i == 0 && at_dash_ ? "" : std::string(indent, ' ');
      at_dash_ = false;
      write_entry(margin + map.keys[i].text + ":", map.items[i], indent);
    }
  }

  void write_comment(const std::string& text, const std::string& remark) {
    write_line("# " + text, remark);
  }

 private:
  void write_line(const std::string& text, const std::string& remark) {
    line_ += text;
    if (!remark.empty()) {
      line_.resize(std::max(line_.size() + 1, kRemarkColumn), ' ');
      line_ += "# " + printable(remark);
    }
    out_ += line_ + "\n";
    line_.clear();
  }

  void write_entry(const std::string& start, const ConfigNode& value, std::size_t indent) {
    if (value.kind == NodeKind::kMap) {
      write_line(start, value.remark);
      write_map(value, indent + 2);
    } else if (value.kind == NodeKind::kList && has_rows(value)) {
      write_line(start, value.remark);
      write_rows(value, indent + 2);
    } else if (value.kind == NodeKind::kList) {
      write_line(start + " " + flow(value), value.remark);
    } else {
      write_line(start + " " + scalar(value), value.remark);
    }
  }

  static bool has_rows(const ConfigNode& list) {
    return !list.items.empty() && list.items.front().kind == NodeKind::kMap;
  }

  void write_rows(const ConfigNode& list, std::size_t indent) {
    for (const ConfigNode& row : list.items) {
      line_ = std::string(indent, ' ') + "- ";
      at_dash_ = true;
      write_map(row, indent + 2);
    }
  }

  static std::string flow(const ConfigNode& list) {
    std::string text = "[";
    for (const ConfigNode& item : list.items) {
      if (&item != &list.items.front()) text += ", ";
      text += scalar(item);
    }
    return text + "]";
  }

  std::string out_;
  std::string line_;
  bool at_dash_ = false;
};

}  // namespace

std::string effective_yaml(const Effective& effective) {
  YamlWriter writer;
  writer.write_map(effective.tree, 0);
  writer.write_comment("Not part of the file: set by flag or environment only.", "");
  for (const Provenance& setting : outside_the_file(effective)) {
    const bool has_flag = find_option(effective.options, setting.setting) != nullptr;
    writer.write_comment((has_flag ? "--" : "") + setting.setting + "=" + show(setting.value),
                         setting.origin.text);
  }
  return writer.take();
}

}  // namespace tranche::os
