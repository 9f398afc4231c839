// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/registration.h"

#include <gtest/gtest.h>

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Event = RegistrationEvent;
using Phase = RegistrationPhase;

const RegistrationTime kNow = RegistrationTime{} + std::chrono::hours(1);

Registration after(std::initializer_list<Event> events, Registration state = {}) {
  for (const Event event : events) state = next(state, event, kNow);
  return state;
}

TEST(Registration, WaitsForAKubelet) {
  EXPECT_EQ(after({}).phase, Phase::kWaiting);
  EXPECT_EQ(after({Event::kTimePassed}).phase, Phase::kWaiting);
  EXPECT_EQ(after({Event::kKubeletCame}).phase, Phase::kDue);
}

TEST(Registration, IsUpOnlyOnceTheKubeletOpensTheStream) {
  EXPECT_EQ(after({Event::kKubeletCame, Event::kAccepted}).phase, Phase::kVerifying);
  EXPECT_EQ(after({Event::kKubeletCame, Event::kAccepted, Event::kStreamOpened}).phase, Phase::kUp);
}

TEST(Registration, DoesNotMindAStreamThatIsOpenedBeforeTheAnswerComes) {
  EXPECT_EQ(after({Event::kKubeletCame, Event::kStreamOpened, Event::kAccepted}).phase, Phase::kUp);
}

TEST(Registration, IsDueAgainWhenARivalHasEnded) {
  EXPECT_EQ(after({Event::kKubeletCame, Event::kAccepted, Event::kStreamOpened, Event::kRivalEnded})
                .phase,
            Phase::kDue);
  EXPECT_EQ(after({Event::kRivalEnded}).phase, Phase::kWaiting);
}

TEST(Registration, IsTriedAgainWhereNoStreamIsOpened) {
  Registration state = after({Event::kKubeletCame, Event::kAccepted});
  state = next(state, Event::kTimePassed, kNow + seconds(4));
  EXPECT_EQ(state.phase, Phase::kVerifying);
  state = next(state, Event::kTimePassed, kNow + seconds(5));
  EXPECT_EQ(state.phase, Phase::kPausing);
  state = next(state, Event::kTimePassed, kNow + seconds(6));
  EXPECT_EQ(state.phase, Phase::kDue);
}

TEST(Registration, IsTriedAgainWithGrowingPauses) {
  Registration state = after({Event::kKubeletCame});
  RegistrationTime now = kNow;
  std::vector<long> pauses;
  for (int i = 0; i < 10; ++i) {
    state = next(state, Event::kRefused, now);
    ASSERT_EQ(state.phase, Phase::kPausing);
    pauses.push_back(std::chrono::duration_cast<milliseconds>(state.until - now).count());
    now = state.until;
    state = next(state, Event::kTimePassed, now);
    ASSERT_EQ(state.phase, Phase::kDue);
  }
  EXPECT_EQ(pauses, (std::vector<long>{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000}));
}

TEST(Registration, IsDueAtOnceWhenAKubeletComesHoweverOftenItFailedBefore) {
  Registration state = after({Event::kKubeletCame});
  for (int i = 0; i < 8; ++i) state = next(state, Event::kRefused, kNow);
  EXPECT_EQ(next(state, Event::kKubeletCame, kNow), (Registration{Phase::kDue, 0, {}}));
}

TEST(Registration, IsDueWhenOurSocketIsDeleted) {
  EXPECT_EQ(after({Event::kKubeletCame, Event::kAccepted, Event::kStreamOpened, Event::kSocketGone})
                .phase,
            Phase::kDue);
  EXPECT_EQ(after({Event::kSocketGone}).phase, Phase::kWaiting);
}

TEST(Registration, IsTriedAgainWhenTheStreamEnds) {
  const Registration state =
      after({Event::kKubeletCame, Event::kAccepted, Event::kStreamOpened, Event::kStreamsEnded});
  EXPECT_EQ(state.phase, Phase::kPausing);
  EXPECT_EQ(state.until - kNow, milliseconds(100));
}

TEST(Registration, DoesNotTakeTheEndOfAnOlderStreamForItsOwn) {
  EXPECT_EQ(after({Event::kKubeletCame, Event::kStreamsEnded}).phase, Phase::kDue);
  EXPECT_EQ(after({Event::kKubeletCame, Event::kAccepted, Event::kStreamsEnded}).phase,
            Phase::kVerifying);
}

TEST(Registration, PausesLongerWhereStreamsDieYoung) {
  Registration state = after({Event::kKubeletCame});
  for (int i = 0; i < 3; ++i) {
    state = after({Event::kAccepted, Event::kStreamOpened, Event::kStreamsEnded}, state);
  }
  EXPECT_EQ(state.failures, 3U);
  EXPECT_EQ(state.until - kNow, milliseconds(400));
}

TEST(Registration, ForgetsFailuresOnceAStreamHasLived) {
  Registration state = after({Event::kKubeletCame, Event::kRefused});
  state = next(state, Event::kTimePassed, kNow + seconds(1));
  state = after({Event::kAccepted, Event::kStreamOpened}, state);
  EXPECT_EQ(state.failures, 1U);
  state = next(state, Event::kTimePassed, kNow + seconds(11));
  EXPECT_EQ(state.failures, 0U);
}

}  // namespace
}  // namespace tranche::node
