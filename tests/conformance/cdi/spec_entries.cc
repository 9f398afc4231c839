// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/cdi/spec_entries.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tranche::tests {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

std::string number(const Json& node, const char* key, int base = 10) {
  const auto value = node.value(key, 0U);
  if (base == 10) return std::to_string(value);
  std::string digits;
  for (unsigned rest = value; rest > 0; rest /= 8) digits.insert(0, std::to_string(rest % 8));
  return digits.empty() ? "0" : digits;
}

std::string node_line(const Json& node) {
  const std::string path = node.at("path");
  return "node " + path + " from " + node.value("hostPath", path) + " " + number(node, "major") +
         ":" + number(node, "minor") + " mode " + number(node, "fileMode", 8) + " group " +
         number(node, "gid") + " user " + number(node, "uid") + " " +
         node.value("permissions", "no permissions") + " " + node.value("type", "");
}

std::string mount_line(const Json& mount) {
  return "mount " + mount.at("containerPath").get<std::string>() + " from " +
         mount.at("hostPath").get<std::string>() + " (" +
         join(mount.value("options", Names{}), ",") + ")";
}

// Links are things of their own: in which hook they are made does not matter,
// their order neither.
void add_hook(const Json& hook, const std::string& who, Names& order, SpecEntries& entries) {
  const Names args = hook.value("args", Names{});
  const std::string head = hook.at("hookName").get<std::string>() + " " +
                           hook.at("path").get<std::string>() + " env " +
                           join(hook.value("env", Names{}), ",");
  Names words;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool is_link = args[i] == "--link" && i + 1 < args.size();
    if (is_link) entries.insert(who + "link " + args[++i]);
    if (!is_link) words.push_back(args[i]);
  }
  const std::string line = "hook " + head + " args " + join(words, " ");
  entries.insert(who + line);
  if (std::ranges::find(order, line) == order.end()) order.push_back(line);
}

void add_edits(const Json& edits, const std::string& who, SpecEntries& entries) {
  for (const auto& [key, value] : edits.items()) {
    const bool known = key == "env" || key == "deviceNodes" || key == "mounts" || key == "hooks" ||
                       key == "additionalGids";
    if (!known) entries.insert(who + "other " + Json{{key, value}}.dump());
  }
  const auto list = [&](const char* key) { return edits.value(key, Json::array()); };
  for (const Json& env : list("env")) entries.insert(who + "env " + env.get<std::string>());
  for (const Json& node : list("deviceNodes")) entries.insert(who + node_line(node));
  for (const Json& mount : list("mounts")) entries.insert(who + mount_line(mount));
  for (const Json& gid : list("additionalGids")) entries.insert(who + "group " + gid.dump());
  Names order;
  for (const Json& hook : list("hooks")) add_hook(hook, who, order, entries);
  // The loader's cache must come after the links, and so on.
  if (who == "common: ") entries.insert(who + "hooks in order: " + join(order, "; "));
}

}  // namespace

Result<SpecEntries> spec_entries(const std::string& text) {
  SpecEntries entries;
  try {
    const Json spec = Json::parse(text);
    entries.insert("version " + spec.at("cdiVersion").get<std::string>());
    entries.insert("kind " + spec.at("kind").get<std::string>());
    for (const Json& device : spec.at("devices")) {
      const std::string who = "device " + device.at("name").get<std::string>() + ": ";
      entries.insert(who + "annotations " + device.value("annotations", Json::object()).dump());
      add_edits(device.at("containerEdits"), who, entries);
    }
    add_edits(spec.at("containerEdits"), "common: ", entries);
  } catch (const Json::exception& problem) {
    return Error{ErrorCode::kInvalidArgument, problem.what()};
  }
  return entries;
}

}  // namespace tranche::tests
