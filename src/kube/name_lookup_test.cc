// SPDX-License-Identifier: Apache-2.0
#include "kube/name_lookup.h"

#include <gmock/gmock.h>

#include <future>

namespace tranche::kube {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

TEST(NameLookup, AsksNobodyForAnAddress) {
  NameLookup lookup([](const std::string&) { return Error{ErrorCode::kInternal, "asked"}; });
  EXPECT_THAT(*lookup.find("10.0.0.1", Clock::now() + 1h, {}), ElementsAre("10.0.0.1"));
  EXPECT_THAT(*lookup.find("fd00::1", Clock::now() + 1h, {}), ElementsAre("fd00::1"));
}

TEST(NameLookup, FindsTheAddressesOfAName) {
  NameLookup lookup;
  const auto found = lookup.find("localhost", Clock::now() + 1h, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(*found, testing::Not(testing::IsEmpty()));
}

// Two at a time would be a thread for each call while the name servers are away.
TEST(NameLookup, LeavesASilentNameServerBehindAndAsksItOnce) {
  std::promise<void> answer;
  auto asked = std::make_shared<std::atomic<int>>(0);
  NameLookup lookup([asked, answered = answer.get_future().share()](const std::string&) {
    ++*asked;
    answered.wait();
    return NameLookup::Addresses(std::vector<std::string>{"10.0.0.1"});
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(lookup.find("kubernetes", Clock::now() + 10ms, {}).error().message,
                HasSubstr("looking up kubernetes"));
  }
  EXPECT_EQ(asked->load(), 1);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(lookup.find("kubernetes", Clock::now() + 24h, stop.get_token()));
  answer.set_value();
}

}  // namespace
}  // namespace tranche::kube
