// SPDX-License-Identifier: Apache-2.0
#include "kube/lease_election.h"

#include <gtest/gtest.h>

namespace tranche::kube {
namespace {

using std::chrono_literals::operator""s;
using Clock = LeaseElection::Clock;

const Clock::time_point kStart{1000s};

class ALease : public testing::Test {
 protected:
  // Writes what `one` wants, as the API server does.
  bool act(LeaseElection& one, Clock::time_point now, const std::string& wall) {
    one.saw(lease_, now);
    std::optional<LeaseRecord> wanted = one.next(now, wall);
    if (!wanted) return false;
    wanted->resource_version = std::to_string(++version_);
    lease_ = *wanted;
    one.wrote(*lease_, now);
    return true;
  }

  std::optional<LeaseRecord> lease_;
  int version_ = 0;
  LeaseElection a_{"a", {}};
  LeaseElection b_{"b", {}};
};

TEST_F(ALease, ThatIsNotThereIsTaken) {
  EXPECT_TRUE(act(a_, kStart, "t1"));
  EXPECT_TRUE(a_.leads(kStart));
  EXPECT_EQ(lease_->transitions, 0U);
}

TEST_F(ALease, IsLeftToItsHolderWhileItChanges) {
  act(a_, kStart, "t1");
  for (int i = 1; i < 20; ++i) {
    const auto now = kStart + 2s * i;
    EXPECT_TRUE(act(a_, now, "t" + std::to_string(i + 1)));
    EXPECT_FALSE(act(b_, now, "x"));
    EXPECT_FALSE(b_.leads(now));
  }
  EXPECT_EQ(lease_->acquired, "t1");
}

TEST_F(ALease, IsTakenOverWhenItDidNotChangeForItsDuration) {
  act(a_, kStart, "t1");
  EXPECT_FALSE(act(b_, kStart + 1s, "u"));
  EXPECT_FALSE(act(b_, kStart + 15s, "u")) << "seen first at 1 s";
  EXPECT_TRUE(act(b_, kStart + 17s, "u"));
  EXPECT_EQ(lease_->transitions, 1U);
  EXPECT_TRUE(b_.leads(kStart + 17s));
}

// What the record says of the time is the holder's clock, which may be years off.
TEST_F(ALease, IsJudgedByOurOwnClockAlone) {
  act(a_, kStart, "1999-01-01T00:00:00.000000Z");
  EXPECT_FALSE(act(b_, kStart + 1s, "2026-01-01T00:00:00.000000Z"));
  act(a_, kStart + 10s, "1999-01-01T00:00:10.000000Z");
  EXPECT_FALSE(act(b_, kStart + 11s, "2026-01-01T00:00:10.000000Z"));
}

TEST_F(ALease, EndsForItsHolderBeforeAnotherMayTakeIt) {
  act(a_, kStart, "t1");
  act(b_, kStart, "u");
  // a gets no answer any more.
  EXPECT_TRUE(a_.leads(kStart + 9s));
  EXPECT_FALSE(a_.leads(kStart + 10s));
  EXPECT_FALSE(act(b_, kStart + 14s, "u"));
  EXPECT_TRUE(act(b_, kStart + 16s, "u"));
}

TEST_F(ALease, ThatAnotherTookIsNoLongerOurs) {
  act(a_, kStart, "t1");
  act(b_, kStart, "u");
  act(b_, kStart + 16s, "u");
  EXPECT_FALSE(act(a_, kStart + 17s, "t2"));
  EXPECT_FALSE(a_.leads(kStart + 17s));
}

TEST_F(ALease, IsNotWrittenBlindly) {
  act(a_, kStart, "t1");
  a_.failed();
  EXPECT_FALSE(a_.next(kStart + 1s, "t2"));
}

TEST_F(ALease, ThatIsGivenUpIsFreeAtOnce) {
  act(a_, kStart, "t1");
  lease_ = a_.release("t2");
  ASSERT_TRUE(lease_);
  EXPECT_EQ(lease_->holder, "");
  EXPECT_TRUE(act(b_, kStart + 1s, "u"));
}

TEST_F(ALease, IsTheSameAsAnObject) {
  act(a_, kStart, "t1");
  EXPECT_EQ(lease_record(lease_object("ns", "n", *lease_)), *lease_);
  EXPECT_EQ(lease_record(Json::parse(R"({"spec":{"holderIdentity":7,"leaseTransitions":-1}})")),
            LeaseRecord{});
}

TEST_F(ALease, WithoutADurationHasOurs) {
  act(a_, kStart, "t1");
  lease_->duration_seconds = 0;
  EXPECT_FALSE(act(b_, kStart, "u"));
  EXPECT_FALSE(act(b_, kStart + 14s, "u"));
  EXPECT_TRUE(act(b_, kStart + 16s, "u"));
}

TEST_F(ALease, IsNotTakenByNobody) {
  LeaseElection nobody("", {});
  EXPECT_FALSE(act(nobody, kStart, "t1"));
}

TEST_F(ALease, ThatIsGivenUpHasNoHolder) {
  act(a_, kStart, "t1");
  const Json lease = lease_object("default", "l", *a_.release("t2"));
  EXPECT_FALSE(lease["spec"].contains("holderIdentity")) << "the API server refuses an empty one";
  EXPECT_EQ(lease_record(lease).holder, "");
}

}  // namespace
}  // namespace tranche::kube
