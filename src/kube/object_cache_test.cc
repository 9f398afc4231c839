// SPDX-License-Identifier: Apache-2.0
#include "kube/object_cache.h"

#include <gtest/gtest.h>

namespace tranche::kube {
namespace {

Json object(const std::string& name, const std::string& version) {
  return {{"metadata", {{"name", name}, {"resourceVersion", version}}}};
}

WatchEvent event(WatchEventType type, const std::string& name, const std::string& version) {
  return {.type = type, .object = object(name, version), .resource_version = version};
}

WatchEvent initial_end(const std::string& version) {
  return {.type = WatchEventType::kBookmark, .resource_version = version, .ends_initial = true};
}

std::string text(const ObjectChanges& changes) {
  std::string all;
  for (const ObjectChange& each : changes) all += (each.object ? "+" : "-") + each.key + " ";
  return all;
}

TEST(ObjectCache, IsCompleteOnceAListIs) {
  ObjectCache cache;
  cache.begin_list();
  EXPECT_EQ(text(cache.take_listed(object("a", "1"))), "+a ");
  EXPECT_FALSE(cache.is_complete());
  EXPECT_EQ(text(cache.end_list("5")), "");
  EXPECT_TRUE(cache.is_complete());
  EXPECT_EQ(cache.resource_version(), "5");
}

TEST(ObjectCache, ReportsWhatWasDeletedWhileNobodyWatched) {
  ObjectCache cache;
  cache.begin_list();
  cache.take_listed(object("a", "1"));
  cache.take_listed(object("b", "1"));
  cache.end_list("5");
  cache.expire();
  cache.begin_list();
  EXPECT_EQ(text(cache.take_listed(object("b", "1"))), "") << "nothing of it changed";
  EXPECT_EQ(text(cache.take_listed(object("c", "8"))), "+c ");
  EXPECT_EQ(text(cache.end_list("9")), "-a ");
}

TEST(ObjectCache, KeepsWhatItKnowsUntilANewListIsComplete) {
  ObjectCache cache;
  cache.begin_list();
  cache.take_listed(object("a", "1"));
  cache.end_list("5");
  cache.expire();
  cache.begin_list();
  cache.begin_list();  // the first one was cut off
  EXPECT_EQ(cache.objects().size(), 1U);
  EXPECT_TRUE(cache.is_complete());
}

TEST(ObjectCache, TakesInitialEventsAsAList) {
  ObjectCache cache;
  cache.begin_list();
  EXPECT_EQ(text(cache.take(event(WatchEventType::kAdded, "a", "7"))), "+a ");
  EXPECT_EQ(cache.resource_version(), "") << "initial events come in no order of versions";
  cache.take(initial_end("9"));
  EXPECT_TRUE(cache.is_complete());
  EXPECT_EQ(cache.resource_version(), "9");
}

TEST(ObjectCache, MovesItsVersionWithEventsAndBookmarks) {
  ObjectCache cache;
  cache.begin_list();
  cache.end_list("5");
  cache.take(event(WatchEventType::kAdded, "a", "6"));
  EXPECT_EQ(cache.resource_version(), "6");
  cache.take({.type = WatchEventType::kBookmark, .resource_version = "20"});
  EXPECT_EQ(cache.resource_version(), "20");
  EXPECT_EQ(text(cache.take(event(WatchEventType::kDeleted, "a", "21"))), "-a ");
  EXPECT_EQ(text(cache.take(event(WatchEventType::kDeleted, "a", "22"))), "");
}

}  // namespace
}  // namespace tranche::kube
