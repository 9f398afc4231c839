// SPDX-License-Identifier: Apache-2.0
#include "kube/event_book.h"

#include <gtest/gtest.h>

namespace tranche::kube {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;

const EventBook::Clock::time_point kStart{1000s};

Event lost(const std::string& note = "XID 79") {
  return {.regarding = {.api_version = "v1", .kind = "Node", .name = "a", .uid = "a"},
          .is_warning = true,
          .reason = "GpuUnhealthy",
          .action = "Monitor",
          .note = note};
}

EventBook book() { return EventBook({.controller = "tranche.dev/device-plugin", .instance = "a"}); }

EventBook::Moment at(std::chrono::seconds after) {
  return {.now = kStart + after, .wall = "2026-11-18T00:00:00.000000Z", .name_tag = "1f"};
}

TEST(Events, AreWrittenAtOnceTheFirstTime) {
  EventBook events = book();
  const auto request = events.note(lost(), at(0s));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->verb, Verb::kPost);
  EXPECT_EQ(request->target, "/apis/events.k8s.io/v1/namespaces/default/events");
  const Json body = Json::parse(request->body);
  EXPECT_EQ(body["metadata"]["name"], "a.1f");
  EXPECT_EQ(body["type"], "Warning");
  EXPECT_EQ(body["regarding"]["kind"], "Node");
}

TEST(Events, AboutAPodAreInItsNamespace) {
  EventBook events = book();
  Event event = lost();
  event.regarding = {.api_version = "v1", .kind = "Pod", .space = "ns", .name = "p"};
  EXPECT_EQ(events.note(event, at(0s))->target, "/apis/events.k8s.io/v1/namespaces/ns/events");
}

TEST(Events, ThatRepeatAreCountedAndWrittenAsASeries) {
  EventBook events = book();
  ASSERT_TRUE(events.note(lost(), at(0s)));
  const auto second = events.note(lost(), at(1s));
  ASSERT_TRUE(second) << "at once: it may follow an event that says the opposite";
  EXPECT_EQ(Json::parse(second->body)["series"]["count"], 2);
  for (int i = 1; i < 50; ++i) EXPECT_FALSE(events.note(lost(), at(10s * i)));
  EXPECT_EQ(events.next_due(), kStart + 10min + 1s);
  EXPECT_TRUE(events.due(at(600s)).empty());
  const auto due = events.due(at(601s));
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].verb, Verb::kPatch);
  EXPECT_EQ(due[0].target, "/apis/events.k8s.io/v1/namespaces/default/events/a.1f");
  EXPECT_EQ(Json::parse(due[0].body)["series"]["count"], 51);
}

TEST(Events, WithAnotherTextAreTheirOwnUpToALimit) {
  EventBook events = book();
  ASSERT_TRUE(events.note(lost("XID 48"), at(0s)));
  const auto other = events.note(lost("fell off the bus"), at(1s));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->verb, Verb::kPost);
  std::ptrdiff_t written = 2;
  for (int i = 0; i < 50; ++i) {
    if (events.note(lost(std::to_string(i)), at(2s))) ++written;
  }
  EXPECT_EQ(written, EventBook::kMostNotes);
}

TEST(Events, OfTheSameKindLaterAreNew) {
  EventBook events = book();
  ASSERT_TRUE(events.note(lost(), at(0s)));
  const auto later = events.note(lost(), at(700s));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->verb, Verb::kPost);
}

TEST(Events, OfAPodWithTheLongestNameHaveANameThatTheServerTakes) {
  EventBook events = book();
  Event event = lost();
  event.regarding.name = std::string(249, 'a') + ".bbb";
  const auto request = events.note(event, at(0s));
  ASSERT_TRUE(request);
  const std::string name = Json::parse(request->body)["metadata"]["name"];
  EXPECT_LE(name.size(), 253U);
  EXPECT_EQ(name, std::string(249, 'a') + ".1f");
}

TEST(Events, OfAnotherSubjectAreTheirOwn) {
  EventBook events = book();
  Event event = lost();
  event.subject = "GPU-0";
  ASSERT_TRUE(events.note(event, at(0s)));
  event.subject = "GPU-1";
  EXPECT_EQ(events.note(event, at(1s))->verb, Verb::kPost);
}

TEST(Events, OfAnotherReasonOrObjectAreTheirOwn) {
  EventBook events = book();
  ASSERT_TRUE(events.note(lost(), at(0s)));
  Event other = lost();
  other.reason = "GpuRecovered";
  EXPECT_TRUE(events.note(other, at(1s)));
  other.regarding.name = "b";
  EXPECT_TRUE(events.note(other, at(1s)));
}

TEST(Events, ThatAreTooManyAreLeftOut) {
  EventBook events = book();
  std::size_t written = 0;
  for (int i = 0; i < 2000; ++i) {
    Event event = lost();
    event.regarding.name = std::to_string(i);
    if (events.note(event, at(0s))) ++written;
  }
  EXPECT_EQ(written, EventBook::kMostKnown);
}

TEST(Events, HaveNotesThatTheServerTakes) {
  EventBook events = book();
  const auto request =
      events.note(lost(std::string(1020, 'x') + "ää" + std::string(50, 'y')), at(0s));
  const std::string note = Json::parse(request->body)["note"];
  EXPECT_LE(note.size(), 1024U);
  EXPECT_TRUE(note.ends_with("…"));
  EXPECT_TRUE(events.note({.regarding = {.name = "z"}, .note = "bad \xff byte"}, at(0s)));
}

TEST(MicroTime, HasSixDigits) {
  EXPECT_EQ(micro_time(std::chrono::system_clock::time_point(std::chrono::microseconds(1'000'001))),
            "1970-01-01T00:00:01.000001Z");
}

TEST(EventBook, MakesAnEventAgainThatTheServerDidNotTake) {
  EventBook book({.controller = "c", .instance = "n"});
  const Event event{.regarding = {.kind = "Node", .name = "a"}, .reason = "R"};
  const EventBook::Moment moment{
      .now = EventBook::Clock::time_point(1min), .wall = "w", .name_tag = "1"};
  const auto first = book.note(event, moment);
  book.lost(*first);
  const auto again = book.note(event, moment);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->verb, Verb::kPost);
  EXPECT_EQ(book.note(event, moment)->verb, Verb::kPatch);
}

}  // namespace
}  // namespace tranche::kube
