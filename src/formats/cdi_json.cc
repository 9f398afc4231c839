// SPDX-License-Identifier: Apache-2.0
#include "formats/cdi_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "core/grant/cdi_names.h"

namespace tranche::formats {
namespace {

// Runtimes refuse a file with an unknown field, so a field is written only if it is set.
using Json = nlohmann::ordered_json;

Json node_json(const CdiDeviceNode& node) {
  Json json = {{"path", node.path}};
  if (!node.host_path.empty()) json["hostPath"] = node.host_path;
  json["major"] = node.major;
  json["minor"] = node.minor;
  if (node.mode != 0) json["fileMode"] = node.mode;
  json["permissions"] = "rwm";
  if (node.gid != 0) json["gid"] = node.gid;
  return json;
}

Json hook_json(const CdiHook& hook) {
  return {{"hookName", hook.stage}, {"path", hook.path}, {"args", hook.args}, {"env", hook.env}};
}

Json mount_json(const CdiMount& mount) {
  return {{"hostPath", mount.host_path},
          {"containerPath", mount.container_path},
          {"options", mount.options}};
}

template <typename T>
void add_list(Json& json, const char* key, const std::vector<T>& items, Json (*to_json)(const T&)) {
  if (items.empty()) return;
  Json& list = json[key] = Json::array();
  for (const T& item : items) list.push_back(to_json(item));
}

Json edits_json(const CdiEdits& edits) {
  Json json = Json::object();
  if (!edits.env.empty()) json["env"] = edits.env;
  add_list(json, "deviceNodes", edits.nodes, node_json);
  add_list(json, "hooks", edits.hooks, hook_json);
  add_list(json, "mounts", edits.mounts, mount_json);
  if (!edits.additional_gids.empty()) json["additionalGids"] = edits.additional_gids;
  return json;
}

Json device_json(const CdiDevice& device) {
  return {{"name", device.name}, {"containerEdits", edits_json(device.edits)}};
}

}  // namespace

Result<std::string> cdi_json(const CdiSpec& spec) {
  Json json = {{"cdiVersion", cdi_version(spec)},
               {"kind", fmt::format("{}/{}", kCdiVendor, spec.device_class)}};
  add_list(json, "devices", spec.devices, device_json);
  json["containerEdits"] = edits_json(spec.common);
  try {
    return json.dump(2) + "\n";
  } catch (const Json::exception& problem) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a path in the CDI specification of class {}: {}", spec.device_class,
                             problem.what())};
  }
}

}  // namespace tranche::formats
