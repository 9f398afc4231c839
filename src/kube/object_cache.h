// SPDX-License-Identifier: Apache-2.0
//
// The objects of a watch as they are known now, and what each list or event changes. A list
// that follows an expired watch is compared with what is known: what it lacks was deleted
// while nobody watched. Pure.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/watch_event.h"

namespace tranche::kube {

struct ObjectChange {
  std::string key;
  std::shared_ptr<const Json> object;  // null: it is gone

  bool operator==(const ObjectChange&) const = default;
};
using ObjectChanges = std::vector<ObjectChange>;

class ObjectCache {
 public:
  // A list in pages, or the initial events of a watch: begin_list(), then the objects, then
  // end_list(), which gives what was deleted. Until end_list() nothing is.
  void begin_list();
  ObjectChanges take_listed(Json object);
  ObjectChanges end_list(const std::string& resource_version);
  bool is_listing() const { return listing_; }

  // An event of a watch; while listing, objects count as listed.
  ObjectChanges take(WatchEvent event);

  // From where a watch continues; empty: a list is needed first.
  const std::string& resource_version() const { return resource_version_; }
  // A list is needed again; the objects stay until then.
  void expire() { resource_version_.clear(); }

  // Whether all objects are known: a list was completed.
  bool is_complete() const { return complete_; }
  const std::map<std::string, std::shared_ptr<const Json>>& objects() const { return objects_; }

 private:
  ObjectChanges set(Json object);

  std::map<std::string, std::shared_ptr<const Json>> objects_;
  std::set<std::string> listed_;
  bool listing_ = false;
  bool complete_ = false;
  std::string resource_version_;
};

}  // namespace tranche::kube
