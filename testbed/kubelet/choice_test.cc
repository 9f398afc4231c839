// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::testbed::standin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kGpu = "nvidia.com/gpu";

NodeState state_with(const std::vector<Device>& devices, const Ids& allocated = {}) {
  NodeState state;
  apply_list(state, kGpu, devices);
  state.allocated[kGpu] = allocated;
  return state;
}

std::vector<Device> four() {
  return {
      {"a0", "Healthy", {0}}, {"b0", "Healthy", {0}}, {"c1", "Healthy", {1}}, {"d", "Healthy", {}}};
}

ChoiceRequest request_of(std::int64_t required) {
  return {.pod_uid = "uid", .container = "main", .resource = kGpu, .required = required};
}

std::string refusal(const NodeState& state, const ChoiceRequest& request) {
  Random random(1);
  const Result<Choice> choice = begin_choice(state, request, random);
  return choice ? "" : choice.error().message;
}

TEST(Choice, AsksWithAllAvailableDevicesWithoutAHint) {
  Random random(1);
  const auto choice = begin_choice(state_with(four(), {"b0"}), request_of(2), random);
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->picked, IsEmpty());
  EXPECT_EQ(choice->question, (PreferenceQuestion{{"a0", "c1", "d"}, {}, 2}));
}

TEST(Choice, TakesReusableDevicesFirstAndMayNeedNoMore) {
  Random random(1);
  ChoiceRequest request = request_of(2);
  request.reusable = {"a0", "b0", "c1"};
  const auto choice = begin_choice(state_with(four(), request.reusable), request, random);
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->is_complete());
  EXPECT_FALSE(choice->question);
  EXPECT_THAT(choice->picked, SizeIs(2));
  EXPECT_FALSE(choice->picked.contains("d"));
}

TEST(Choice, TellsThePluginToIncludeWhatIsReused) {
  Random random(1);
  ChoiceRequest request = request_of(2);
  request.reusable = {"a0"};
  const auto choice = begin_choice(state_with(four(), {"a0"}), request, random);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->question, (PreferenceQuestion{{"a0", "b0", "c1", "d"}, {"a0"}, 2}));
  EXPECT_EQ(choice->needed, 1);
}

TEST(Choice, AsksAmongAlignedDevicesWhereThereAreMoreThanNeeded) {
  Random random(1);
  ChoiceRequest request = request_of(1);
  request.affinity = NumaNodes{0};
  const auto choice = begin_choice(state_with(four()), request, random);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->question, (PreferenceQuestion{{"a0", "b0"}, {}, 1}));
  EXPECT_EQ(*finish_choice(*choice, {"c1", "b0"}, 1, random), (Ids{"b0"}));
}

TEST(Choice, TakesAllAlignedDevicesUnaskedWhereAllAreNeeded) {
  Random random(1);
  ChoiceRequest request = request_of(2);
  request.affinity = NumaNodes{0};
  const auto exact = begin_choice(state_with(four()), request, random);
  ASSERT_TRUE(exact);
  EXPECT_FALSE(exact->question);
  EXPECT_THAT(exact->picked, ElementsAre("a0", "b0"));

  request.required = 3;
  const auto more = begin_choice(state_with(four()), request, random);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->question, (PreferenceQuestion{{"a0", "b0", "c1", "d"}, {"a0", "b0"}, 3}));
  // Devices on another node come before those on none.
  EXPECT_EQ(*finish_choice(*more, {}, 3, random), (Ids{"a0", "b0", "c1"}));
}

TEST(Choice, IgnoresAPreferenceForDevicesThatWereNotOffered) {
  Random random(1);
  const auto choice = begin_choice(state_with(four(), {"a0"}), request_of(1), random);
  ASSERT_TRUE(choice);
  const auto chosen = finish_choice(*choice, {"a0", "unheard-of"}, 1, random);
  ASSERT_TRUE(chosen);
  EXPECT_THAT(*chosen, SizeIs(1));
  EXPECT_FALSE(chosen->contains("a0"));
}

TEST(Choice, HasNothingToDoForAContainerThatHasItsDevices) {
  Random random(1);
  NodeState state = state_with(four(), {"a0"});
  state.pods["uid"]["main"][kGpu] = {{{0, {"a0"}}}, {}};
  const auto choice = begin_choice(state, request_of(1), random);
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->is_complete());
  EXPECT_THAT(choice->picked, IsEmpty());
}

TEST(Choice, HasNothingToDoForAContainerThatRuns) {
  Random random(1);
  ChoiceRequest request = request_of(2);
  request.running = true;
  // Whatever became of its devices.
  for (const NodeState& state : {NodeState{}, state_with({{"a0", "Unhealthy", {}}})}) {
    const auto choice = begin_choice(state, request, random);
    ASSERT_TRUE(choice);
    EXPECT_TRUE(choice->is_complete());
    EXPECT_THAT(choice->picked, IsEmpty());
  }
}

TEST(Choice, RefusesInTheKubeletsWords) {
  EXPECT_EQ(refusal({}, request_of(1)), "cannot allocate unregistered device nvidia.com/gpu");
  EXPECT_EQ(refusal(state_with({{"a", "Unhealthy", {}}}), request_of(1)),
            "no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu");
  EXPECT_EQ(refusal(state_with(four(), {"a0", "b0"}), request_of(3)),
            "requested number of devices unavailable for nvidia.com/gpu. Requested: 3, Available: "
            "2");
  NodeState state = state_with(four(), {"gone"});
  state.pods["uid"]["main"][kGpu] = {{{0, {"gone"}}}, {}};
  EXPECT_EQ(refusal(state, request_of(1)),
            "previously allocated devices are no longer healthy; cannot allocate unhealthy devices "
            "nvidia.com/gpu");
  EXPECT_EQ(refusal(state, request_of(2)),
            "pod \"uid\" container \"main\" changed request for resource \"nvidia.com/gpu\" from 1 "
            "to 2");
}

TEST(Choice, RefusesARequestForNothingWhereNothingIsHealthy) {
  EXPECT_EQ(refusal(state_with({}), request_of(0)),
            "no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu");
  EXPECT_EQ(refusal(state_with(four()), request_of(0)), "");
}

TEST(SplitByAffinity, PutsEverythingAsideWithoutAHintOrWithoutNodes) {
  const NodeState state = state_with(four());
  const Ids all = state.healthy.at(kGpu);
  EXPECT_EQ(split_by_affinity(state.listed.at(kGpu), all, std::nullopt).without_affinity, all);
  const NodeState flat = state_with({{"a", "Healthy", {}}});
  EXPECT_EQ(split_by_affinity(flat.listed.at(kGpu), {"a"}, NumaNodes{0}).without_affinity,
            (Ids{"a"}));
}

TEST(SplitByAffinity, CountsADeviceOnTwoNodesAsAlignedWithEither) {
  const NodeState state = state_with({{"both", "Healthy", {0, 1}}, {"one", "Healthy", {1}}});
  const ByAffinity parts = split_by_affinity(state.listed.at(kGpu), {"both", "one"}, NumaNodes{0});
  EXPECT_THAT(parts.aligned, ElementsAre("both"));
  EXPECT_THAT(parts.unaligned, ElementsAre("one"));
}

TEST(StandinRandom, GivesTheSameOrderForTheSameSeed) {
  const Ids ids = {"a", "b", "c", "d", "e", "f", "g", "h"};
  EXPECT_EQ(Random(7).shuffled(ids), Random(7).shuffled(ids));
  EXPECT_NE(Random(7).shuffled(ids), Random(8).shuffled(ids));
  EXPECT_THAT(Random(7).shuffled(ids), testing::UnorderedElementsAreArray(ids));
}

}  // namespace
}  // namespace tranche::testbed::standin
