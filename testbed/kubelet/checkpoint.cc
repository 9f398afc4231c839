// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/checkpoint.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/path.h"
#include "base/text.h"
#include "os/files.h"
#include "testbed/kubelet/base64.h"
#include "testbed/kubelet/wire.h"

namespace tranche::testbed::standin {
namespace {

using Json = nlohmann::ordered_json;

// One element of PodDeviceEntries.
struct Entry {
  std::string pod_uid;
  std::string container;
  std::string resource;
  DevicesPerNuma devices;
  std::string response;  // wire bytes
};

// The file's content. The kubelet's checksum tells a list that is absent
// ("null") from an empty one, so this does too.
struct Content {
  std::optional<std::vector<Entry>> entries;
  std::map<std::string, IdList> registered;
};

// The checksum is a hash over this text: the content as Go's spew library
// prints it.
std::string go_dump(const IdList& ids) { return "[" + join(ids, " ") + "]"; }

template <typename Map, typename KeyText>
std::string go_dump_map(const Map& map, KeyText key_text) {
  std::vector<std::string> parts;
  for (const auto& [key, ids] : map) parts.push_back(key_text(key) + ":" + go_dump(ids));
  return "map[" + join(parts, " ") + "]";
}

std::string go_dump(const Entry& entry) {
  std::vector<std::string> bytes;
  bytes.reserve(entry.response.size());
  for (const char c : entry.response) {
    bytes.push_back(std::to_string(static_cast<unsigned char>(c)));
  }
  return "{PodUID:(string)" + entry.pod_uid + " ContainerName:(string)" + entry.container +
         " ResourceName:(string)" + entry.resource + " DeviceIDs:(checkpoint.DevicesPerNUMA)" +
         go_dump_map(entry.devices, [](std::int64_t node) { return std::to_string(node); }) +
         " AllocResp:([]uint8)[" + join(bytes, " ") + "]}";
}

std::string go_dump(const Content& content) {
  std::string entries = "<nil>";
  if (content.entries) {
    std::vector<std::string> parts;
    for (const Entry& entry : *content.entries) parts.push_back(go_dump(entry));
    entries = "[" + join(parts, " ") + "]";
  }
  return "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)" + entries +
         " RegisteredDevices:(map[string][]string)" +
         go_dump_map(content.registered, [](const std::string& name) { return name; }) + "}";
}

std::uint32_t fnv1a(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 16777619U;
  }
  return hash;
}

Json to_json(const Entry& entry) {
  // Go writes a map's keys in the order of their text: "10" before "2".
  std::map<std::string, IdList> devices;
  for (const auto& [node, ids] : entry.devices) devices[std::to_string(node)] = ids;
  return {{"PodUID", entry.pod_uid},
          {"ContainerName", entry.container},
          {"ResourceName", entry.resource},
          {"DeviceIDs", devices},
          {"AllocResp", to_base64(entry.response)}};
}

Entry entry_from_json(const Json& json) {
  Entry entry{json.at("PodUID"), json.at("ContainerName"), json.at("ResourceName"), {}, {}};
  for (const auto& [node, ids] : json.at("DeviceIDs").items()) {
    entry.devices[parse_number<std::int64_t>(node).value_or(kNoNumaNode)] = ids.get<IdList>();
  }
  entry.response = from_base64(json.at("AllocResp").get<std::string>()).value_or("");
  return entry;
}

Content content_from_json(const Json& data) {
  Content content;
  if (!data.at("PodDeviceEntries").is_null()) {
    content.entries.emplace();
    for (const Json& entry : data.at("PodDeviceEntries")) {
      content.entries->push_back(entry_from_json(entry));
    }
  }
  for (const auto& [resource, ids] : data.at("RegisteredDevices").items()) {
    content.registered[resource] = ids.get<IdList>();
  }
  return content;
}

Content content_of(const Checkpoint& checkpoint) {
  Content content{std::nullopt, checkpoint.registered};
  for (const Holding& holding : holdings_of(checkpoint.pods)) {
    if (!content.entries) content.entries.emplace();
    content.entries->push_back({holding.pod_uid, holding.container, holding.resource,
                                holding.allocation->devices,
                                to_wire(holding.allocation->response).SerializeAsString()});
  }
  return content;
}

Checkpoint checkpoint_from(const Content& content) {
  Checkpoint checkpoint{{}, content.registered};
  for (const Entry& entry : content.entries.value_or(std::vector<Entry>{})) {
    v1beta1::ContainerAllocateResponse response;
    // An entry that cannot be read is passed over, and its devices are free.
    if (!response.ParseFromString(entry.response)) continue;
    checkpoint.pods[entry.pod_uid][entry.container][entry.resource] = {entry.devices,
                                                                       from_wire(response)};
  }
  return checkpoint;
}

// Go's encoder writes these three so that the text can stand in HTML.
std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<': escaped += "\\u003c"; break;
      case '>': escaped += "\\u003e"; break;
      case '&': escaped += "\\u0026"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

Error corrupt(const std::string& why) {
  return {ErrorCode::kInvalidArgument, "checkpoint is corrupted: " + why};
}

}  // namespace

Checkpoint checkpoint_of(const NodeState& state) {
  Checkpoint checkpoint{state.pods, {}};
  for (const auto& [resource, ids] : state.healthy) {
    checkpoint.registered[resource] = IdList(ids.begin(), ids.end());
  }
  return checkpoint;
}

std::string encode_checkpoint(const Checkpoint& checkpoint) {
  const Content content = content_of(checkpoint);
  Json entries = nullptr;
  if (content.entries) {
    entries = Json::array();
    for (const Entry& entry : *content.entries) entries.push_back(to_json(entry));
  }
  const Json file = {
      {"Data", {{"PodDeviceEntries", entries}, {"RegisteredDevices", content.registered}}},
      {"Checksum", fnv1a(go_dump(content))}};
  // Ids come from a plugin and may be any bytes; the kubelet's encoder, too,
  // replaces what is not UTF-8.
  return escape_html(file.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<Checkpoint> decode_checkpoint(std::string_view text) {
  try {
    const Json file = Json::parse(text);
    const Content content = content_from_json(file.at("Data"));
    const std::uint32_t expected = fnv1a(go_dump(content));
    if (file.at("Checksum").get<std::uint64_t>() != expected) {
      return corrupt("the checksum is not " + std::to_string(expected));
    }
    return checkpoint_from(content);
  } catch (const nlohmann::json::exception& problem) {
    return corrupt(problem.what());
  }
}

CheckpointFile::CheckpointFile(const std::string& directory)
    : path_(below(directory, kCheckpointName)) {}

Result<Checkpoint> CheckpointFile::read() const {
  // 65,536 devices in a few hundred pods are far below this.
  const Result<std::string> text = read_file(path_, 256U << 20U);
  if (!text) return text.error();
  Result<Checkpoint> checkpoint = decode_checkpoint(*text);
  if (!checkpoint) return checkpoint.error().in("reading " + path_);
  return checkpoint;
}

Status CheckpointFile::write_text(const std::string& text) const {
  return write_atomically(path_, text, 0600);
}

void CheckpointFile::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace tranche::testbed::standin
