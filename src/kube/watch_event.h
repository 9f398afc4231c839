// SPDX-License-Identifier: Apache-2.0
//
// One line of a watch. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/json.h"

namespace tranche::kube {

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kError;
  Json object;
  std::string resource_version;  // of the object; empty: it has none
  // The bookmark behind the objects that were there when the watch began.
  bool ends_initial = false;
  unsigned error_code = 0;  // of an ERROR event; 410: the version is too old
};

Result<WatchEvent> parse_watch_event(std::string_view line);

// "namespace/name", or "name" of what has no namespace; empty: the object has no name.
std::string key_of(const Json& object);
std::string resource_version_of(const Json& object);

}  // namespace tranche::kube
