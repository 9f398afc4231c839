// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/publication.h"

#include <gmock/gmock.h>

namespace tranche::node {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;

class PublicationTest : public testing::Test {
 protected:
  bool is_due() const { return published_.due() && *published_.due() <= now_; }

  Publication published_{{.heartbeat = 3min}};
  Publication::Clock::time_point now_{1'000s};
};

TEST_F(PublicationTest, IsWrittenAtOnceAndThenNotAgain) {
  EXPECT_FALSE(is_due());
  published_.want("a");
  EXPECT_TRUE(is_due());
  published_.wrote("a", now_);
  EXPECT_TRUE(published_.is_written());
  now_ += 2min;
  EXPECT_FALSE(is_due());
}

TEST_F(PublicationTest, IsWrittenAtMostOnceASecond) {
  published_.want("a");
  published_.wrote("a", now_);
  published_.want("b");
  now_ += 999ms;
  EXPECT_FALSE(is_due());
  now_ += 1ms;
  EXPECT_TRUE(is_due());
}

TEST_F(PublicationTest, HasAHeartbeatOfMinutes) {
  published_.want("a");
  published_.wrote("a", now_);
  now_ += 3min;
  EXPECT_TRUE(is_due());
}

TEST_F(PublicationTest, HasNoHeartbeatUnlessAsked) {
  Publication quiet;
  quiet.want("a");
  quiet.wrote("a", now_);
  EXPECT_FALSE(quiet.due());
}

TEST_F(PublicationTest, IsWrittenAgainWhenItIsLost) {
  published_.want("a");
  published_.wrote("a", now_);
  published_.lost();
  now_ += 1s;
  EXPECT_TRUE(is_due());
}

TEST_F(PublicationTest, IsWrittenWithLongerPausesWhereSomebodyElseKeepsChangingIt) {
  published_.want("a");
  std::vector<std::chrono::nanoseconds> pauses;
  std::vector<bool> fights;
  for (int i = 0; i < 5; ++i) {
    published_.wrote("a", now_);
    fights.push_back(published_.overwritten(now_, 0));
    pauses.emplace_back(*published_.due() - now_);
    now_ = *published_.due();
  }
  EXPECT_THAT(pauses, ElementsAre(1000ms, 1000ms, 1600ms, 3200ms, 6400ms));
  EXPECT_THAT(fights, ElementsAre(false, false, false, true, false));
  // After a while it is no fight any more.
  published_.wrote("a", now_);
  now_ += 3min;
  EXPECT_FALSE(published_.overwritten(now_, 0));
  EXPECT_TRUE(is_due());
}

TEST_F(PublicationTest, WaitsLongerAfterEachFailureAndAsTheServerAsks) {
  published_.want("a");
  published_.failed(now_, 0.0);
  now_ += 1s;
  EXPECT_TRUE(is_due());
  published_.failed(now_, 0.0);
  now_ += 1s;
  EXPECT_FALSE(is_due());
  now_ += 1s;
  EXPECT_TRUE(is_due());
  published_.failed(now_, 0.0, 60s);
  now_ += 59s;
  EXPECT_FALSE(is_due());
  now_ += 1s;
  EXPECT_TRUE(is_due());
}

TEST_F(PublicationTest, IsNeverWrittenWhereNothingIsWanted) {
  published_.want("a");
  published_.want(std::nullopt);
  EXPECT_FALSE(published_.due());
}

}  // namespace
}  // namespace tranche::node
