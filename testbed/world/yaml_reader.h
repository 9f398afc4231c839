// SPDX-License-Identifier: Apache-2.0
//
// Reads YAML strictly into members that describe() names. The first problem is
// kept, with its line; reading goes on but its result is not used.
//
// Internal to parse.cc.
#pragma once

#include <yaml-cpp/yaml.h>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/named.h"
#include "base/result.h"
#include "base/text.h"
#include "testbed/world/codes.h"
#include "testbed/world/describe.h"

namespace tranche::testbed::sim {

// The first thing that is wrong with a file.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(const YAML::Node& at, const std::string& message);
  const std::optional<Error>& first() const { return first_; }

 private:
  const std::string file_;
  std::optional<Error> first_;
};

class YamlReader {
 public:
  // `where` names the map in messages: "gpus[3]".
  YamlReader(const YAML::Node& map, std::string where, Problems& problems);

  // The node of a key that is read by hand; empty when the file has none.
  std::optional<YAML::Node> take(std::string_view key);

  template <typename T>
  void field(std::string_view key, T& value, const T&) {
    always(key, value);
  }
  template <typename T>
  void always(std::string_view key, T& value) {
    if (const auto node = take(key)) read(*node, name_of(key), value);
  }
  void code(std::string_view key, int& value, int base);

  // Complains of keys that nobody took.
  void finish();

  void read(const YAML::Node& node, const std::string& where, std::string& value);
  void read(const YAML::Node& node, const std::string& where, bool& value);
  void read(const YAML::Node& node, const std::string& where, PciAddress& value);
  void read(const YAML::Node& node, const std::string& where, std::vector<NvLink>& value);

  template <typename Tag>
  void read(const YAML::Node& node, const std::string& where, Named<Tag>& value) {
    read(node, where, value.text);
  }

  template <std::integral T>
  void read(const YAML::Node& node, const std::string& where, T& value) {
    std::string text;
    read(node, where, text);
    const bool hex = text.starts_with("0x");
    const auto number =
        hex ? parse_number<T>(std::string_view(text).substr(2), 16) : parse_number<T>(text);
    if (!number) return problems_.add(node, where + ": '" + text + "' is no number that fits");
    value = *number;
  }

  template <typename E>
    requires std::is_enum_v<E>
  void read(const YAML::Node& node, const std::string& where, E& value) {
    std::string text;
    read(node, where, text);
    std::vector<std::string> known;
    for (const auto& [name, each] : Names<E>::kAll) {
      if (name == text) value = each;
      if (name == text) return;
      known.emplace_back(name);
    }
    problems_.add(node, where + ": '" + text + "' is none of " + join(known, ", "));
  }

  template <typename T>
  void read(const YAML::Node& node, const std::string& where, std::optional<T>& value) {
    value.emplace();
    read(node, where, *value);
  }

  template <typename T>
  void read(const YAML::Node& node, const std::string& where, std::vector<T>& value) {
    value.clear();
    if (!is_sequence(node, where)) return;
    for (std::size_t i = 0; i < node.size(); ++i) {
      read(node[i], where + "[" + std::to_string(i) + "]", value.emplace_back());
    }
  }

  template <typename T>
    requires requires(YamlReader& reader, T& value) { describe(reader, value, T{}); }
  void read(const YAML::Node& node, const std::string& where, T& value) {
    YamlReader reader(node, where, problems_);
    describe(reader, value, value);
    reader.finish();
  }

  bool is_sequence(const YAML::Node& node, const std::string& where);
  std::string name_of(std::string_view key) const;
  Problems& problems() { return problems_; }
  const YAML::Node& node() const { return map_; }

 private:
  struct Entry {
    std::string key;
    YAML::Node key_node;
    YAML::Node value;
    bool taken = false;
  };

  const YAML::Node map_;
  const std::string where_;
  Problems& problems_;
  std::vector<Entry> entries_;
  std::vector<std::string> known_;
};

}  // namespace tranche::testbed::sim
