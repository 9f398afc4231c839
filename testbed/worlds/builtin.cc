// SPDX-License-Identifier: Apache-2.0
#include "testbed/worlds/builtin.h"

#include "base/text.h"
#include "testbed/world/parse.h"

namespace tranche::testbed::sim {

Result<World> builtin_world(std::string_view name) {
  std::vector<std::string> names;
  for (const BuiltinText& world : builtin_texts()) {
    if (world.name == name) return parse_world(world.text, world.name + ".yaml");
    names.push_back(world.name);
  }
  const auto meant = nearest(name, names);
  return Error{ErrorCode::kNotFound, "there is no built-in world '" + std::string(name) + "'" +
                                         (meant ? "; did you mean '" + *meant + "'?" : "")};
}

std::string summary_of(const BuiltinText& world) {
  std::string summary;
  for (const std::string& line : split(world.text, '\n')) {
    if (!line.starts_with("#")) break;
    if (!line.starts_with("# ") || line.find("SPDX") != std::string::npos) continue;
    summary += (summary.empty() ? "" : " ") + line.substr(2);
  }
  return summary;
}

}  // namespace tranche::testbed::sim
