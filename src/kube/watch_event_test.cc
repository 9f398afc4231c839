// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_event.h"

#include <gtest/gtest.h>

namespace tranche::kube {
namespace {

TEST(WatchEvent, HasItsObjectAndVersion) {
  const auto event = parse_watch_event(
      R"({"type":"MODIFIED","object":{"metadata":{"namespace":"a","name":"b","resourceVersion":"7"}}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEventType::kModified);
  EXPECT_EQ(event->resource_version, "7");
  EXPECT_EQ(key_of(event->object), "a/b");
}

TEST(WatchEvent, OfABookmarkMayEndTheInitialEvents) {
  const auto end = parse_watch_event(
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9",
          "annotations":{"k8s.io/initial-events-end":"true"}}}})");
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->ends_initial);
  const auto other =
      parse_watch_event(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})");
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->ends_initial);
}

TEST(WatchEvent, OfAnErrorHasItsCode) {
  const auto event = parse_watch_event(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->error_code, 410U);
}

// Copying it would take more stack than a thread has.
TEST(WatchEvent, ThatIsNestedTooDeeplyIsAnError) {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_FALSE(
      parse_watch_event(R"({"type":"ADDED","object":{"metadata":{"name":"a"},"x":)" + deep + "}}"));
  const std::string text = R"({"type":"ADDED","object":{"metadata":{"name":"[[\"[[)" +
                           std::string(1000, '[') + R"("}}})";
  EXPECT_TRUE(parse_watch_event(text)) << "brackets in a text are no levels";
}

TEST(WatchEvent, ThatIsNoneIsAnError) {
  EXPECT_FALSE(parse_watch_event("{"));
  EXPECT_FALSE(parse_watch_event("[]"));
  EXPECT_FALSE(parse_watch_event(R"({"type":"OTHER","object":{"metadata":{"name":"b"}}})"));
  EXPECT_FALSE(parse_watch_event(R"({"type":"ADDED","object":{}})"));
  EXPECT_FALSE(parse_watch_event(R"({"type":"ADDED","object":[]})"));
  EXPECT_FALSE(parse_watch_event(R"({"type":"ADDED"})"));
}

}  // namespace
}  // namespace tranche::kube
