// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tranche::testbed::standin {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Event finished(Event event) {
  event.finished = true;
  return event;
}

TEST(EventText, NamesTheCallItsArgumentsAndItsOutcome) {
  EXPECT_EQ(to_text(finished({.kind = EventKind::kRegister,
                              .resource = "nvidia.com/gpu",
                              .endpoint = "gpu.sock",
                              .version = "v1beta1"})),
            "Register nvidia.com/gpu endpoint=gpu.sock version=v1beta1 -> OK");
  EXPECT_EQ(to_text(finished({.kind = EventKind::kGetPreferredAllocation,
                              .resource = "nvidia.com/gpu",
                              .available = {"b", "a", "c"},
                              .must_include = {"a"},
                              .size = 2,
                              .preferred = {"c", "a"}})),
            "GetPreferredAllocation nvidia.com/gpu available=3 must=1 size=2 -> c a");
  EXPECT_EQ(to_text(finished({.kind = EventKind::kAllocate,
                              .resource = "nvidia.com/gpu",
                              .ids = {"b", "a"},
                              .response = {.envs = {{"A", "1"}}, .cdi_devices = {"x", "y"}}})),
            "Allocate nvidia.com/gpu devices=2 [a b] -> envs=1 mounts=0 devices=0 annotations=0 "
            "cdi_devices=2");
  EXPECT_EQ(to_text(finished({.kind = EventKind::kPreStartContainer,
                              .resource = "nvidia.com/gpu",
                              .ids = {"a"},
                              .error = "rpc error: code = Internal desc = no"})),
            "PreStartContainer nvidia.com/gpu devices=1 [a] -> rpc error: code = Internal desc = "
            "no");
  EXPECT_EQ(to_text(finished({.kind = EventKind::kRemoved, .pod = "default/a"})),
            "Removed default/a");
}

TEST(EventText, ShowsACallThatIsUnderWay) {
  EXPECT_EQ(to_text({.kind = EventKind::kAllocate, .resource = "r", .ids = {"a"}}),
            "Allocate r devices=1 [a] -> …");
}

TEST(EventText, CutsALongListOfIds) {
  IdList ids;
  for (char c = 'a'; c <= 't'; ++c) ids.emplace_back(1, c);
  EXPECT_EQ(to_text(finished({.kind = EventKind::kPreStartContainer, .resource = "r", .ids = ids})),
            "PreStartContainer r devices=20 [a b c d e f g h i j k l m n o p and 4 more] -> OK");
}

TEST(Transcript, KeepsTheOrderInWhichCallsBegan) {
  Transcript transcript;
  const auto outer = transcript.begin({.kind = EventKind::kRegister, .resource = "r"});
  transcript.add({.kind = EventKind::kGetDevicePluginOptions, .resource = "r"});
  transcript.finish(outer, [](Event& event) { event.error = "refused"; });
  EXPECT_THAT(transcript.lines(),
              ElementsAre("Register r endpoint= version= -> refused",
                          "GetDevicePluginOptions r -> pre_start_required=false "
                          "get_preferred_allocation_available=false"));
  EXPECT_THAT(transcript.calls(EventKind::kRegister), SizeIs(1));
}

TEST(Transcript, GivesEachFinishedEventToItsSink) {
  std::vector<std::string> seen;
  Transcript transcript([&](const Event& event) { seen.push_back(to_text(event)); });
  const auto number = transcript.begin({.kind = EventKind::kRemoved, .pod = "a"});
  EXPECT_THAT(seen, IsEmpty());
  transcript.finish(number, [](Event&) {});
  EXPECT_THAT(seen, ElementsAre("Removed a"));
}

TEST(Transcript, ForgetsOnlyWhatIsFinished) {
  Transcript transcript;
  transcript.add({.kind = EventKind::kRemoved, .pod = "a"});
  const auto number = transcript.begin({.kind = EventKind::kRegister});
  transcript.clear();
  transcript.add({.kind = EventKind::kRemoved, .pod = "b"});
  transcript.finish(number, [](Event& event) { event.error = "late"; });
  EXPECT_THAT(transcript.lines(), ElementsAre("Register  endpoint= version= -> late", "Removed b"));
  transcript.clear();
  EXPECT_THAT(transcript.events(), IsEmpty());
}

TEST(Transcript, WakesThoseWhoWaitForAnEvent) {
  Transcript transcript;
  std::thread writer([&] {
    for (int i = 0; i < 3; ++i) transcript.add({.kind = EventKind::kAdmitted});
  });
  EXPECT_TRUE(transcript.wait_for(EventKind::kAdmitted, 3, seconds(20)));
  writer.join();
  EXPECT_FALSE(transcript.wait_for(EventKind::kAdmitted, 4, seconds(0)));
}

}  // namespace
}  // namespace tranche::testbed::standin
