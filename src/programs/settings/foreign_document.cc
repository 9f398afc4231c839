// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/foreign_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "os/settings/values.h"

namespace tranche::programs {
namespace {

// Top-level keys of a configuration file that no Helm values have. Charts have `resources` and
// `imex`, too.
constexpr std::array<std::string_view, 3> kOurs = {"flags", "sharing", "tranche"};
// Top-level keys of Helm values of NVIDIA's chart or ours, which no configuration file has.
constexpr std::array<std::string_view, 10> kOfValues = {
    "affinity",          "config", "devicePlugin", "fullnameOverride", "image", "nameOverride",
    "namespaceOverride", "nfd",    "nodeSelector", "tolerations"};

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_key_of_ours(const ConfigNode& root) {
  return std::ranges::any_of(root.keys, [](const NodeKey& key) { return is_in(kOurs, key.text); });
}

// "data.config.yaml", by the first key of the section; else "data.<name>".
std::string inner_file(const ConfigNode& section, const std::string& shown) {
  if (section.kind != NodeKind::kMap || section.keys.empty()) return shown + ".<name>";
  return fmt::format("{}.{}", shown, brief(section.keys.front().text));
}

DocumentProblem whole_config_map(const ConfigNode* data, unsigned line) {
  const std::string inner = inner_file(data == nullptr ? ConfigNode{} : *data, "data");
  return DocumentProblem{line,
                         fmt::format("this is a whole ConfigMap, not the configuration file in it; "
                                     "give what is below {}, without the indentation, or mount the "
                                     "ConfigMap and name the file in the mount",
                                     inner)};
}

std::optional<DocumentProblem> kubernetes_object(const ConfigNode& root) {
  const ConfigNode* kind = given_item(root, "kind");
  const bool is_object = kind != nullptr && given_item(root, "apiVersion") != nullptr;
  if (!is_object || kind->kind != NodeKind::kScalar) return std::nullopt;
  const unsigned line = key_line(root, "kind");
  if (kind->text != "ConfigMap") {
    return DocumentProblem{line, fmt::format("this is a Kubernetes {}, not a configuration file; a "
                                             "configuration file begins with 'version: v1'",
                                             brief(kind->text))};
  }
  return whole_config_map(given_item(root, "data"), line);
}

// What is left of a ConfigMap without its kind.
std::optional<DocumentProblem> bare_data(const ConfigNode& root) {
  const ConfigNode* data = given_item(root, "data");
  const bool is_map = data != nullptr && data->kind == NodeKind::kMap;
  if (!is_map || has_key_of_ours(root)) return std::nullopt;
  return whole_config_map(data, key_line(root, "data"));
}

std::optional<DocumentProblem> helm_values(const ConfigNode& root) {
  if (has_key_of_ours(root)) return std::nullopt;
  const auto first = std::ranges::find_if(
      root.keys, [](const NodeKey& key) { return is_in(kOfValues, key.text); });
  if (first == root.keys.end()) return std::nullopt;
  const ConfigNode* config = given_item(root, "config");
  const ConfigNode* map =
      config != nullptr && config->kind == NodeKind::kMap ? given_item(*config, "map") : nullptr;
  return DocumentProblem{first->line,
                         "these are values of a Helm chart, not a configuration file; give them "
                         "to helm with -f, or give here what is below " +
                             inner_file(map == nullptr ? ConfigNode{} : *map, "config.map")};
}

}  // namespace

std::optional<DocumentProblem> foreign_document(const ConfigNode& root) {
  if (root.kind != NodeKind::kMap) return std::nullopt;
  if (auto object = kubernetes_object(root)) return object;
  if (auto data = bare_data(root)) return data;
  for (const NodeKey& key : root.keys) {
    if (key.text != "GPUSharingConfig" && key.text != "GPUPartitionSize") continue;
    return DocumentProblem{key.line,
                           "this is Google's gpu_config.json, which is not read here; write what "
                           "it says as tranche.policies (docs/migrating-from-gcp.md has the same "
                           "settings side by side)"};
  }
  return helm_values(root);
}

}  // namespace tranche::programs
