// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <nlohmann/json.hpp>

#include "os/settings/effective.h"
#include "os/settings/values.h"

namespace tranche::os {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ConfigNode& node) {
  if (node.kind == NodeKind::kMap) {
    Json object = Json::object();
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      object[node.keys[i].text] = to_json(node.items[i]);
    }
    return object;
  }
  if (node.kind == NodeKind::kList) {
    Json array = Json::array();
    for (const ConfigNode& item : node.items) array.push_back(to_json(item));
    return array;
  }
  if (node.quoted) return node.text;
  if (scalar_kind(node) == ScalarKind::kBool) return scalar_truth(node);
  return std::stoll(node.text);
}

}  // namespace

std::string effective_json(const Effective& effective) {
  Json outside = Json::object();
  for (const Provenance& setting : outside_the_file(effective)) {
    outside[setting.setting] = show(setting.value);
  }
  Json origins = Json::object();
  for (const Provenance& setting : effective.provenance) {
    origins[setting.key.empty() ? setting.setting : setting.key] = setting.origin.text;
  }
  const Json report = {{"configuration", to_json(effective.tree)},
                       {"notInFile", outside},
                       {"origins", origins},
                       {"notices", effective.notices},
                       {"warnings", effective.warnings}};
  // A file system path need not be UTF-8, and dump() throws by default.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tranche::os
