// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_event.h"

#include <array>
#include <optional>
#include <utility>

namespace tranche::kube {
namespace {

std::string metadata_text(const Json& object, const char* key) {
  const Json* metadata = member(object, "metadata");
  return metadata == nullptr ? std::string() : text_at(*metadata, key);
}

std::optional<WatchEventType> type_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, WatchEventType>, 5> kTypes{
      {{"ADDED", WatchEventType::kAdded},
       {"MODIFIED", WatchEventType::kModified},
       {"DELETED", WatchEventType::kDeleted},
       {"BOOKMARK", WatchEventType::kBookmark},
       {"ERROR", WatchEventType::kError}}};
  for (const auto& [text, type] : kTypes) {
    if (text == word) return type;
  }
  return std::nullopt;
}

bool ends_initial(const Json& object) {
  const Json* metadata = member(object, "metadata");
  const Json* annotations = metadata == nullptr ? nullptr : member(*metadata, "annotations");
  return annotations != nullptr && text_at(*annotations, "k8s.io/initial-events-end") == "true";
}

}  // namespace

std::string key_of(const Json& object) {
  const std::string space = metadata_text(object, "namespace");
  const std::string name = metadata_text(object, "name");
  return space.empty() || name.empty() ? name : space + "/" + name;
}

std::string resource_version_of(const Json& object) {
  return metadata_text(object, "resourceVersion");
}

Result<WatchEvent> parse_watch_event(std::string_view line) {
  Json json = parse_json(line);
  if (json.is_discarded()) return Error{ErrorCode::kInvalidArgument, "a watch event is not JSON"};
  const std::optional<WatchEventType> type = type_of(text_at(json, "type"));
  const Json* object = member(json, "object");
  if (!type || object == nullptr || !object->is_object()) {
    return Error{ErrorCode::kInvalidArgument, "a watch event has no known type or no object"};
  }
  WatchEvent event{.type = *type, .resource_version = resource_version_of(*object)};
  if (*type == WatchEventType::kBookmark) event.ends_initial = ends_initial(*object);
  if (*type == WatchEventType::kError) {
    event.error_code = static_cast<unsigned>(number_at(*object, "code", 999));
  } else if (*type != WatchEventType::kBookmark && key_of(*object).empty()) {
    return Error{ErrorCode::kInvalidArgument, "the object of a watch event has no name"};
  }
  event.object = std::move(json["object"]);
  return event;
}

}  // namespace tranche::kube
