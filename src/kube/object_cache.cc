// SPDX-License-Identifier: Apache-2.0
#include "kube/object_cache.h"

#include <utility>

namespace tranche::kube {

void ObjectCache::begin_list() {
  listing_ = true;
  listed_.clear();
}

ObjectChanges ObjectCache::take_listed(Json object) {
  const std::string key = key_of(object);
  if (key.empty()) return {};
  listed_.insert(key);
  return set(std::move(object));
}

ObjectChanges ObjectCache::end_list(const std::string& resource_version) {
  ObjectChanges changes;
  for (auto each = objects_.begin(); each != objects_.end();) {
    if (listed_.contains(each->first)) {
      ++each;
    } else {
      changes.push_back({each->first, nullptr});
      each = objects_.erase(each);
    }
  }
  listed_.clear();
  listing_ = false;
  complete_ = true;
  resource_version_ = resource_version;
  return changes;
}

ObjectChanges ObjectCache::take(WatchEvent event) {
  const std::string version = event.resource_version;
  ObjectChanges changes;
  switch (event.type) {
    case WatchEventType::kError: return {};
    case WatchEventType::kBookmark:
      if (event.ends_initial && listing_) return end_list(version);
      break;
    case WatchEventType::kAdded:
    case WatchEventType::kModified:
      changes = listing_ ? take_listed(std::move(event.object)) : set(std::move(event.object));
      break;
    case WatchEventType::kDeleted: {
      const std::string key = key_of(event.object);
      listed_.erase(key);
      if (objects_.erase(key) > 0) changes.push_back({key, nullptr});
      break;
    }
  }
  // Initial events come in no order of versions: a watch cannot continue from one of them.
  if (!listing_ && !version.empty()) resource_version_ = version;
  return changes;
}

ObjectChanges ObjectCache::set(Json object) {
  const std::string key = key_of(object);
  std::shared_ptr<const Json>& known = objects_[key];
  if (known && *known == object) return {};
  known = std::make_shared<const Json>(std::move(object));
  return {{key, known}};
}

}  // namespace tranche::kube
