// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/yaml_reader.h"

#include <algorithm>

#include "core/gpu/pci_address.h"

namespace tranche::testbed::sim {
namespace {

std::string article_for(const std::string& where) { return where.empty() ? "the file" : where; }

// "4 x gpu 0000:0f:00.0", "switch", "2 x switch 0000:c4:00.0 down".
std::optional<std::vector<NvLink>> parse_links(const std::string& text) {
  std::vector<std::string> words;
  for (std::string& word : split(text, ' ')) {
    if (!word.empty()) words.push_back(std::move(word));
  }
  std::size_t at = 0;
  unsigned count = 1;
  if (words.size() > 2 && words[1] == "x") {
    const auto number = parse_number<unsigned>(words[0]);
    if (!number || *number > 64) return std::nullopt;
    count = *number;
    at = 2;
  }
  if (at >= words.size() || (words[at] != "gpu" && words[at] != "switch")) return std::nullopt;
  NvLink link{.peer = words[at] == "gpu" ? NvLink::Peer::kGpu : NvLink::Peer::kSwitch};
  ++at;
  if (at < words.size() && words[at] != "down") {
    link.pci = parse_pci_address(words[at++]);
    if (!link.pci) return std::nullopt;
  }
  if (at < words.size() && words[at] == "down") {
    link.active = false;
    ++at;
  }
  if (at != words.size() || (link.peer == NvLink::Peer::kGpu && !link.pci)) return std::nullopt;
  return std::vector(count, link);
}

std::string no_link(const std::string& where, const std::string& text) {
  return where + ": '" + text + "' is no link like '4 x gpu 0000:1b:00.0' or 'switch down'";
}

}  // namespace

void Problems::add(const YAML::Node& at, const std::string& message) {
  if (first_) return;
  first_ = Error{ErrorCode::kInvalidArgument,
                 file_ + ":" + std::to_string(at.Mark().line + 1) + ": " + message};
}

YamlReader::YamlReader(const YAML::Node& map, std::string where, Problems& problems)
    : map_(map), where_(std::move(where)), problems_(problems) {
  if (!map.IsMap()) {
    if (!map.IsNull()) problems_.add(map, article_for(where_) + " is not a map of keys");
    return;
  }
  for (const auto& pair : map) {
    if (!pair.first.IsScalar()) {
      problems_.add(pair.first, article_for(where_) + " has a key that is no word");
      continue;
    }
    const std::string& key = pair.first.Scalar();
    // yaml-cpp keeps both and reads the first.
    if (std::ranges::count(entries_, key, &Entry::key) > 0) {
      problems_.add(pair.first, name_of(key) + " is given twice");
    }
    entries_.push_back({key, pair.first, pair.second});
  }
}

std::optional<YAML::Node> YamlReader::take(std::string_view key) {
  known_.emplace_back(key);
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) return std::nullopt;
  found->taken = true;
  return found->value;
}

void YamlReader::code(std::string_view key, int& value, int) {
  const auto node = take(key);
  if (!node) return;
  std::string text;
  read(*node, name_of(key), text);
  const auto code = parse_code(text);
  if (!code) {
    const auto meant = nearest(lower(text), code_names());
    return problems_.add(*node, name_of(key) + ": '" + text + "' is no return code" +
                                    (meant ? "; did you mean '" + *meant + "'?" : ""));
  }
  value = *code;
}

void YamlReader::finish() {
  for (const Entry& entry : entries_) {
    if (entry.taken) continue;
    const auto meant = nearest(entry.key, known_);
    problems_.add(entry.key_node, "unknown key " + name_of(entry.key) +
                                      (meant ? "; did you mean '" + *meant + "'?" : ""));
  }
}

void YamlReader::read(const YAML::Node& node, const std::string& where, std::string& value) {
  if (!node.IsScalar()) return problems_.add(node, where + " is not a single value");
  value = node.Scalar();
}

void YamlReader::read(const YAML::Node& node, const std::string& where, bool& value) {
  std::string text;
  read(node, where, text);
  if (text != "true" && text != "false") {
    return problems_.add(node, where + ": '" + text + "' is neither true nor false");
  }
  value = text == "true";
}

void YamlReader::read(const YAML::Node& node, const std::string& where, PciAddress& value) {
  std::string text;
  read(node, where, text);
  const auto address = parse_pci_address(text);
  if (!address) {
    return problems_.add(node, where + ": '" + text + "' is no PCI address like 0000:1b:00.0");
  }
  value = *address;
}

void YamlReader::read(const YAML::Node& node, const std::string& where,
                      std::vector<NvLink>& value) {
  value.clear();
  if (!is_sequence(node, where)) return;
  for (const auto& each : node) {
    std::string text;
    read(each, where, text);
    const auto links = parse_links(text);
    if (!links) return problems_.add(each, no_link(where, text));
    value.insert(value.end(), links->begin(), links->end());
  }
}

bool YamlReader::is_sequence(const YAML::Node& node, const std::string& where) {
  if (node.IsSequence()) return true;
  problems_.add(node, where + " is not a list");
  return false;
}

std::string YamlReader::name_of(std::string_view key) const {
  return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
}

}  // namespace tranche::testbed::sim
