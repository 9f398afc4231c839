// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tranche::core {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kGpu = "example.com/gpu";
constexpr const char* kMemory = "example.com/memory";

LedgerTime at(int second) { return LedgerTime(seconds(second)); }

// As pod-resources lists it.
Holding listed(const std::string& pod, std::vector<std::string> shares,
               const std::string& container = "main", const std::string& resource = kGpu) {
  return {resource, {"default", pod, "", container}, std::move(shares)};
}

// As the checkpoint has it.
Holding saved(const std::string& pod, std::vector<std::string> shares,
              const std::string& container = "main", const std::string& resource = kGpu) {
  return {resource, {"", "", "uid-" + pod, container}, std::move(shares)};
}

// As both together have it.
Holding known(const std::string& pod, std::vector<std::string> shares,
              const std::string& container = "main", const std::string& resource = kGpu) {
  return {resource, {"default", pod, "uid-" + pod, container}, std::move(shares)};
}

Holding granted(std::vector<std::string> shares, const std::string& resource = kGpu) {
  return {resource, {}, std::move(shares)};
}

using Holdings = std::vector<Holding>;

Records records_of(Holdings pod_resources, Holdings checkpoint) {
  return with_reading({}, {at(0), std::move(pod_resources), std::move(checkpoint)});
}

TEST(Holder, IsNamedByWhatIsKnownOfIt) {
  EXPECT_EQ(to_string(known("train", {"a"}).holder), "default/train, container main");
  EXPECT_EQ(to_string(saved("train", {"a"}).holder), "the pod with uid uid-train, container main");
  EXPECT_EQ(to_string(Holder{}), "a container that is being created");
}

TEST(Records, HoldNothingAtFirst) {
  EXPECT_THAT(present({}).holdings, IsEmpty());
  EXPECT_THAT(to_confirm({}), IsEmpty());
}

TEST(Records, ASourceThatDoesNotAnswerChangesNothing) {
  const Records before = records_of({listed("one", {"a"})}, {saved("one", {"a"})});
  EXPECT_EQ(with_reading(before, {at(1)}), before);
  const Records after = with_reading(before, {at(1), Holdings{}, std::nullopt});
  EXPECT_THAT(present(after).holdings, ElementsAre(saved("one", {"a"})));
}

TEST(Records, AnEmptyAnswerIsAnAnswer) {
  const Records before = records_of({listed("one", {"a"})}, {saved("one", {"a"})});
  EXPECT_THAT(present(with_reading(before, {at(1), Holdings{}, Holdings{}})).holdings, IsEmpty());
}

TEST(Records, AShareInBothSourcesIsHeldOnceWithWhatEachKnows) {
  const Records records = records_of({listed("one", {"a", "b"}), listed("two", {"c"})},
                                     {saved("two", {"c"}), saved("one", {"a", "b"})});
  EXPECT_THAT(present(records).holdings,
              ElementsAre(known("one", {"a", "b"}), known("two", {"c"})));
}

TEST(Records, AnInitContainersShareIsHeldByTheCheckpoint) {
  const Records records = records_of({listed("one", {"a"})},
                                     {saved("one", {"a"}), saved("one", {"a", "b"}, "prepare")});
  // Its name comes from the container of its pod that both have.
  EXPECT_THAT(present(records).holdings,
              ElementsAre(known("one", {"a"}), known("one", {"b"}, "prepare")));
}

TEST(Records, AShareOfTwoHoldersIsPodResourcesFirst) {
  const Records records =
      records_of({listed("heir", {"a"}, "work")}, {saved("gone", {"a", "b"}, "main")});
  EXPECT_THAT(present(records).holdings,
              ElementsAre(saved("gone", {"b"}), listed("heir", {"a"}, "work")));
}

TEST(Records, AShareThatTheCheckpointHasTwiceIsTheLargerHoldings) {
  const Holding init = saved("one", {"a", "b"}, "prepare");
  const Holding main = saved("one", {"a"}, "main");
  for (const Holdings& order : {Holdings{init, main}, Holdings{main, init}}) {
    const Records records = with_reading({}, {at(0), std::nullopt, order});
    EXPECT_THAT(present(records).holdings, ElementsAre(init));
  }
}

TEST(Records, AShareListedTwiceIsHeldOnce) {
  const Records records = records_of({listed("one", {"a"}), listed("two", {"a", "b"})}, {});
  EXPECT_THAT(present(records).holdings, ElementsAre(listed("one", {"a"}), listed("two", {"b"})));
}

TEST(Records, TheSameIdUnderTwoResourcesIsTwoShares) {
  const Records records =
      records_of({listed("one", {"a"}), listed("one", {"a"}, "main", kMemory)}, {});
  EXPECT_EQ(present(records).holdings.size(), 2U);
}

TEST(Records, LeftoversOfTheCheckpointAreToBeConfirmed) {
  const Records records =
      records_of({listed("two", {"b"})}, {saved("one", {"a"}), saved("two", {"b"})});
  EXPECT_THAT(to_confirm(records), ElementsAre(saved("one", {"a"})));
  EXPECT_EQ(present(records).holdings.size(), 2U) << "held until the kubelet has written";
}

TEST(Records, AKubeletThatHasJustStartedAndListsNothingFreesNothing) {
  const Records before = records_of({listed("one", {"a"})}, {saved("one", {"a"})});
  Records records = with_reading(before, {at(1), Holdings{}, before.checkpoint, false});
  EXPECT_THAT(present(records).holdings, ElementsAre(saved("one", {"a"})));
  records = with_reading(records, {at(2), before.pod_resources, std::nullopt});
  EXPECT_EQ(present(records), present(before));
}

TEST(Records, NothingIsToBeConfirmedWherePodResourcesHasNeverAnswered) {
  const Records records = with_reading({}, {at(0), std::nullopt, Holdings{saved("one", {"a"})}});
  EXPECT_THAT(to_confirm(records), IsEmpty());
}

TEST(Records, ALeftoverIsGoneWithTheNextCheckpoint) {
  Records records = records_of({}, {saved("one", {"a"})});
  records = with_reading(records, {at(1), std::nullopt, Holdings{}, true});
  EXPECT_THAT(present(records).holdings, IsEmpty());
  EXPECT_THAT(to_confirm(records), IsEmpty());
}

TEST(Records, WhatANewerCheckpointStillHasIsConfirmed) {
  Records records = records_of({}, {saved("one", {"a"}, "prepare")});
  ASSERT_THAT(to_confirm(records), testing::SizeIs(1));
  records = with_reading(records, {at(1), std::nullopt, records.checkpoint, true});
  EXPECT_THAT(to_confirm(records), IsEmpty());
  EXPECT_EQ(present(records).holdings.size(), 1U);
  // Neither source's next answer takes that back.
  records = with_reading(records, {at(4), Holdings{}, records.checkpoint});
  EXPECT_THAT(to_confirm(records), IsEmpty());
}

TEST(Records, AConfirmationIsOfThePodsSharesAndNotOfWhatIsKnownOfItsNames) {
  Records records = records_of({}, {});
  // The write of an admission, seen before the pod is listed.
  const Holdings file = {saved("one", {"a"}), saved("one", {"a", "b"}, "prepare")};
  records = with_reading(records, {at(1), std::nullopt, file, true});
  records = with_reading(records, {at(2), Holdings{listed("one", {"a"})}, file});
  EXPECT_THAT(present(records).holdings,
              ElementsAre(known("one", {"a"}), known("one", {"b"}, "prepare")));
  EXPECT_THAT(to_confirm(records), IsEmpty());
}

TEST(Records, AConfirmationOfOneIsNoneOfAnother) {
  Records records = records_of({}, {saved("one", {"a"})});
  records = with_reading(records, {at(1), std::nullopt, records.checkpoint, true});
  records = with_reading(records, {at(2), std::nullopt, Holdings{saved("two", {"a"})}});
  EXPECT_THAT(to_confirm(records), ElementsAre(saved("two", {"a"})));
}

TEST(Records, AConfirmationEndsWhenAPodEnds) {
  Records records =
      records_of({listed("one", {"a"})}, {saved("one", {"a"}), saved("one", {"b"}, "prepare")});
  records = with_reading(records, {at(1), std::nullopt, records.checkpoint, true});
  ASSERT_THAT(to_confirm(records), IsEmpty());
  records = with_reading(records, {at(4), Holdings{}, records.checkpoint});
  EXPECT_THAT(to_confirm(records),
              ElementsAre(saved("one", {"a"}), saved("one", {"b"}, "prepare")));
}

// Its admission wrote the checkpoint after one List, and it was over before the next.
TEST(Records, APodThatEndsBeforeAnyListHasItIsToBeConfirmed) {
  const Holdings file{saved("one", {"a"})};
  Records records = records_of({}, {});
  records = with_reading(records, {at(1), std::nullopt, file, true});
  ASSERT_THAT(to_confirm(records), IsEmpty()) << "it was held when the file was written";
  records = with_reading(records, {at(2), Holdings{}, std::nullopt});
  EXPECT_THAT(to_confirm(records), ElementsAre(saved("one", {"a"})));
  EXPECT_EQ(present(records).holdings.size(), 1U) << "held until the kubelet has written";
  const Records ended = with_reading(records, {at(3), std::nullopt, Holdings{}, true});
  EXPECT_THAT(present(ended).holdings, IsEmpty());
  // An init container that no List has is confirmed by the write after the List.
  records = with_reading(records, {at(3), std::nullopt, file, true});
  EXPECT_THAT(to_confirm(records), IsEmpty());
  records = with_reading(records, {at(6), Holdings{}, std::nullopt});
  EXPECT_THAT(to_confirm(records), IsEmpty());
}

TEST(Records, APodThatComesWhileAListIsReadIsConfirmedByTheNextOne) {
  const Holdings file{saved("one", {"a"})};
  Records records = records_of({}, {});
  records = with_reading(records, {at(1), Holdings{}, file, true});
  records = with_reading(records, {at(4), Holdings{}, std::nullopt});
  EXPECT_THAT(to_confirm(records), ElementsAre(saved("one", {"a"})));
  records = with_reading(records, {at(5), Holdings{listed("one", {"a"})}, std::nullopt});
  EXPECT_THAT(to_confirm(records), IsEmpty());
}

TEST(Records, AConfirmationDoesNotLast) {
  Records records = records_of({}, {saved("one", {"a"}, "prepare")});
  records = with_reading(records, {at(1), std::nullopt, records.checkpoint, true});
  records = with_reading(records, {at(1) + kConfirmationLasts, Holdings{}, std::nullopt});
  EXPECT_THAT(to_confirm(records), testing::SizeIs(1));
}

TEST(Records, AGrantIsHeldAtOnce) {
  const Records records = with_grant({}, {kGpu, {"a", "b"}, at(0)});
  EXPECT_THAT(present(records).holdings, ElementsAre(granted({"a", "b"})));
}

TEST(Records, AGrantIsSettledByTheFirstSourceThatHasItsShares) {
  const Records before = with_grant({}, {kGpu, {"a", "b"}, at(0)});
  const Records by_checkpoint =
      with_reading(before, {at(1), std::nullopt, Holdings{saved("one", {"a", "b"})}});
  EXPECT_THAT(by_checkpoint.fresh, IsEmpty());
  EXPECT_THAT(present(by_checkpoint).holdings, ElementsAre(saved("one", {"a", "b"})));
  const Records by_list =
      with_reading(before, {at(1), Holdings{listed("one", {"a", "b"})}, std::nullopt});
  EXPECT_THAT(by_list.fresh, IsEmpty());
  EXPECT_THAT(present(by_list).holdings, ElementsAre(listed("one", {"a", "b"})));
}

TEST(Records, AGrantIsNotSettledByOtherSharesOrAnotherResource) {
  const Records before = with_grant({}, {kGpu, {"a", "b"}, at(0)});
  const Records after = with_reading(before, {at(1), Holdings{listed("one", {"a"})},
                                              Holdings{saved("two", {"a", "b"}, "main", kMemory)}});
  EXPECT_EQ(after.fresh, before.fresh);
}

TEST(Records, AReadingFromBeforeAGrantSettlesNothing) {
  const Records before = with_grant({}, {kGpu, {"a"}, at(5)});
  const Records after = with_reading(before, {at(4), Holdings{listed("last-holder", {"a"})}, {}});
  EXPECT_EQ(after.fresh, before.fresh);
}

TEST(Records, AGrantThatNobodyShowsExpires) {
  Records records = with_grant({}, {kGpu, {"a"}, at(0)});
  records = with_reading(records, {at(0) + kGrantPatience - seconds(1), Holdings{}, Holdings{}});
  EXPECT_THAT(present(records).holdings, ElementsAre(granted({"a"})));
  records = with_reading(records, {at(0) + kGrantPatience, Holdings{}, Holdings{}});
  EXPECT_THAT(present(records).holdings, IsEmpty());
}

TEST(Records, AGrantDoesNotExpireWhileNobodyAnswers) {
  const Records before = with_grant({}, {kGpu, {"a"}, at(0)});
  EXPECT_EQ(with_reading(before, {at(3600)}), before);
}

TEST(Records, PodResourcesAloneDoesNotLetAGrantExpireWhereThereIsACheckpoint) {
  Records records = with_grant(records_of({}, {}), {kGpu, {"a"}, at(0)});
  records = with_reading(records, {at(3600), Holdings{}, std::nullopt});
  EXPECT_THAT(present(records).holdings, ElementsAre(granted({"a"})));
}

TEST(Records, PodResourcesLetsAGrantExpireWhereThereNeverWasACheckpoint) {
  Records records = with_grant({}, {kGpu, {"a"}, at(0)});
  records = with_reading(records, {at(3600), Holdings{}, std::nullopt});
  EXPECT_THAT(present(records).holdings, IsEmpty());
}

TEST(Records, AShareThatIsGrantedAgainBelongsToTheNewerGrant) {
  Records records = with_grant({}, {kGpu, {"a", "b"}, at(0)});
  records = with_grant(records, {kGpu, {"a"}, at(1)});
  EXPECT_THAT(records.fresh,
              ElementsAre(FreshGrant{kGpu, {"b"}, at(0)}, FreshGrant{kGpu, {"a"}, at(1)}));
  records = with_grant(records, {kGpu, {"b"}, at(2)});
  EXPECT_THAT(records.fresh, testing::SizeIs(2)) << "one that has nothing left is forgotten";
}

TEST(Records, AGrantOfWhatASourceHasIsNoSecondHolding) {
  // The kubelet allocated an ended pod's share again, and no source shows it yet.
  const Records records = with_grant(records_of({listed("gone", {"a"})}, {}), {kGpu, {"a"}, at(1)});
  EXPECT_THAT(present(records).holdings, ElementsAre(listed("gone", {"a"})));
}

TEST(Records, WhatIsPresentDoesNotDependOnTheOrderOfAnswers) {
  Holdings pods = {listed("one", {"a"}), listed("two", {"b", "c"}), listed("six", {"c", "f"})};
  Holdings file = {saved("two", {"b", "c"}), saved("six", {"a", "e"}), saved("one", {"a"})};
  const Ledger expected = present(records_of(pods, file));
  std::ranges::reverse(pods);
  std::ranges::reverse(file);
  EXPECT_EQ(present(records_of(pods, file)), expected);
  EXPECT_TRUE(std::ranges::is_sorted(expected.holdings));
}

// Shares and their sizes; "GPU-0" is the device of all of them.
GrantedSizes sizes_of(const std::map<std::string, std::uint64_t, std::less<>>& sizes) {
  return {{kMemory, sizes}};
}

Records with_one_grant(std::uint64_t bytes) {
  Records records = with_reading({}, {at(0), Holdings{}, Holdings{}});
  return with_grant(std::move(records), {kMemory, {"GPU-0::abcd-0"}, at(1), {{"GPU-0", bytes}}});
}

TEST(Sizes, AreThoseOfTheGrantFromItsMomentOn) {
  EXPECT_EQ(present(with_one_grant(7)).sizes, sizes_of({{"GPU-0::abcd-0", 7}}));
}

TEST(Sizes, StayWhenTheGrantIsSettledAndWhenOtherSizesAreOffered) {
  Records records = with_one_grant(7);
  records = with_reading(
      std::move(records),
      {.begun = at(2), .checkpoint = Holdings{saved("a", {"GPU-0::abcd-0"}, "main", kMemory)}});
  EXPECT_THAT(records.fresh, IsEmpty());
  records = with_offer(std::move(records), {{kMemory, {{"GPU-0", 2}}}}, at(3));
  EXPECT_EQ(present(records).sizes, sizes_of({{"GPU-0::abcd-0", 7}}));
}

TEST(Sizes, GoWithTheShare) {
  Records records = with_one_grant(7);
  const Holding held = saved("a", {"GPU-0::abcd-0"}, "main", kMemory);
  records = with_reading(std::move(records), {at(2), std::nullopt, Holdings{held}});
  records = with_reading(std::move(records), {at(3), Holdings{}, Holdings{}});
  EXPECT_EQ(present(records).sizes, GrantedSizes{});
}

// A kubelet that has just started lists no pods; its checkpoint has them all.
TEST(Sizes, StayWhenOnlyPodResourcesHasNotTheShare) {
  Records records;
  records.sizes = sizes_of({{"GPU-0::abcd-0", 7}});
  records = with_reading(std::move(records), {.begun = at(1), .pod_resources = Holdings{}});
  EXPECT_EQ(records.sizes, sizes_of({{"GPU-0::abcd-0", 7}}));
}

TEST(Sizes, OfWhatWasGrantedBeforeUsAreThoseThatWereOfferedThen) {
  Records records;
  records.offered = {{kMemory, {{"GPU-0", 40}}}};
  EXPECT_EQ(with_offer(records, {{kMemory, {{"GPU-0", 10}}}}, at(0)).offered, records.offered)
      << "not before it is known what is held";
  const Holding held = saved("a", {"GPU-0::abcd-0"}, "main", kMemory);
  records = with_reading(std::move(records), {at(1), std::nullopt, Holdings{held}});
  records = with_offer(std::move(records), {{kMemory, {{"GPU-0", 10}}}}, at(2));
  EXPECT_EQ(present(records).sizes, sizes_of({{"GPU-0::abcd-0", 40}}));
}

// A call was in progress when the offered sizes changed, and the agent ended before it stored the
// grant.
TEST(Sizes, OfAGrantAboutWhichNothingIsKnownAreTheLargestThatMayHaveBeenOffered) {
  Records records = with_reading({}, {at(0), Holdings{}, Holdings{}});
  records = with_offer(std::move(records), {{kMemory, {{"GPU-0", 40}}}}, at(1));
  records = with_offer(std::move(records), {{kMemory, {{"GPU-0", 10}}}}, at(100));
  const Holding held = saved("a", {"GPU-0::abcd-0"}, "main", kMemory);
  const Records soon = with_reading(records, {at(101), std::nullopt, Holdings{held}});
  EXPECT_EQ(present(soon).sizes, sizes_of({{"GPU-0::abcd-0", 40}}));
  records = with_offer(std::move(records), {{kMemory, {{"GPU-0", 10}}}}, at(160));
  const Records later = with_reading(records, {at(161), std::nullopt, Holdings{held}});
  EXPECT_EQ(present(later).sizes, sizes_of({{"GPU-0::abcd-0", 10}}));
}

TEST(Sizes, OfAShareThatIsGrantedAgainAreThoseOfTheNewGrant) {
  Records records = with_one_grant(7);
  records = with_grant(std::move(records), {kMemory, {"GPU-0::abcd-0"}, at(9), {{"GPU-0", 2}}});
  EXPECT_EQ(present(records).sizes, sizes_of({{"GPU-0::abcd-0", 2}}));
}

TEST(Sizes, OfWholeDevicesAreNotKept) {
  Records records = with_reading({}, {at(0), Holdings{}, Holdings{}});
  records = with_grant(std::move(records), {kGpu, {"GPU-0"}, at(1), {{"GPU-0", 7}}});
  EXPECT_EQ(present(records).sizes, GrantedSizes{});
}

}  // namespace
}  // namespace tranche::core
