// SPDX-License-Identifier: Apache-2.0
//
// A configuration file as a tree with line numbers, before its keys are interpreted. YAML, of
// which JSON is a part. No file content can crash or hang this: size, depth and number of values
// are bounded. Repeated keys are kept for the reader to report. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::os {

// A configuration file as read; the path is for messages only.
struct ConfigText {
  std::string path;
  std::string content;
};

enum class NodeKind { kNull, kScalar, kList, kMap };

struct NodeKey {
  std::string text;
  unsigned line = 0;

  bool operator==(const NodeKey&) const = default;
};

struct ConfigNode {
  NodeKind kind = NodeKind::kNull;
  std::string text;               // of a scalar
  bool quoted = false;            // a scalar that is text, whatever it looks like
  unsigned line = 0;              // from 1
  std::vector<NodeKey> keys;      // of a map: keys[i] belongs to items[i]
  std::vector<ConfigNode> items;  // of a list or a map
  std::string remark;             // printed behind it; never read from a file

  bool operator==(const ConfigNode&) const = default;
};

constexpr std::size_t kMostDocumentBytes = 1U << 20U;

struct DocumentProblem {
  unsigned line = 0;  // 0: the file as a whole
  std::string what;
};

// Detects a file of another kind, given by mistake.
using ForeignCheck = std::optional<DocumentProblem> (*)(const ConfigNode& root);

// An empty file is a null node. Resolves anchors, aliases and merge keys (`<<`). An error begins
// with the path and, if known, the line: "config.yaml:3: ".
Result<ConfigNode> parse_document(const ConfigText& file, ForeignCheck foreign = nullptr);

// The type of an unquoted scalar by the rules of YAML 1.1, which NVIDIA's plugin follows.
enum class ScalarKind { kText, kBool, kInteger, kFloat };
ScalarKind scalar_kind(const ConfigNode& scalar);

// true, yes, on and y; false, no, off and n; only for scalars of kind kBool.
bool scalar_truth(const ConfigNode& scalar);

// "a list", "the text \"5\"", "the number 5": for messages.
std::string describe(const ConfigNode& node);

// The first item with this key; null if there is none.
const ConfigNode* find_item(const ConfigNode& map, std::string_view key);

// The same; also null for an item without a value.
const ConfigNode* given_item(const ConfigNode& map, std::string_view key);

// The node at "flags.plugin.passDeviceSpecs"; no value if it is not given.
struct FoundNode {
  const ConfigNode* value = nullptr;
  unsigned line = 0;  // of the key
};
FoundNode find_path(const ConfigNode& root, std::string_view path);

bool is_text(const ConfigNode& node);
bool is_integer(const ConfigNode& node);
bool is_bool(const ConfigNode& node);

// The line of a key; that of the map when it has no such key.
unsigned key_line(const ConfigNode& map, std::string_view key);

}  // namespace tranche::os
