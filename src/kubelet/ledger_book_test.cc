// SPDX-License-Identifier: Apache-2.0
#include "kubelet/ledger_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tranche {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGpu = "nvidia.com/gpu";

Status allows(const Ledger&) { return Done{}; }

// A whole device that nobody holds.
Status is_free(const Ledger& ledger) {
  if (ledger.holdings.empty()) return Done{};
  return Error{ErrorCode::kUnavailable, "held"};
}

class Book : public testing::Test {
 protected:
  void know_that_nothing_is_held() {
    book_.learn({.begun = LedgerTime::clock::now(), .pod_resources = std::vector<Holding>{}});
  }

  Status grant(const char* resource = kGpu,
               const std::function<Status(const Ledger&)>& check = allows) {
    return book_.grant({.resource = resource, .shares = {"GPU-0"}, .sizes = {}}, check);
  }

  bool has_sources_ = true;
  std::atomic<int> changes_ = 0;
  LedgerBook book_{
      {.changed = [this] { ++changes_; }, .has_sources = [this] { return has_sources_; }}};
};

TEST_F(Book, GrantsNothingBeforeASourceHasAnswered) {
  const Status granted = grant();
  ASSERT_FALSE(granted);
  EXPECT_THAT(granted.error().message, HasSubstr("not known yet"));
  know_that_nothing_is_held();
  EXPECT_TRUE(grant());
}

// Nobody would ever say that the grant has ended.
TEST_F(Book, GrantsAndKeepsNoRecordWhereThereIsNoSource) {
  has_sources_ = false;
  EXPECT_TRUE(grant());
  EXPECT_EQ(book_.get(), nullptr);
  EXPECT_EQ(changes_, 0);
}

TEST_F(Book, RecordsEveryGrant) {
  know_that_nothing_is_held();
  ASSERT_TRUE(grant());
  EXPECT_THAT(book_.get()->holdings, ElementsAre(Holding{kGpu, {}, {"GPU-0"}}));
  EXPECT_EQ(changes_, 2) << "known, and granted";
}

TEST_F(Book, RecordsNothingThatTheCheckRefuses) {
  know_that_nothing_is_held();
  EXPECT_FALSE(
      grant(kGpu, [](const Ledger&) -> Status { return Error{ErrorCode::kUnavailable, "no"}; }));
  EXPECT_THAT(book_.get()->holdings, IsEmpty());
}

TEST_F(Book, KeepsTheSizesThatAnEarlierAgentGranted) {
  book_.recall({.granted = {}, .offered = {{"m", {{"GPU-0", 40}}}}, .offered_before = {}});
  book_.offer({{"m", {{"GPU-0", 10}}}});
  book_.learn({.begun = LedgerTime::clock::now(),
               .checkpoint = std::vector<Holding>{{"m", {"", "", "uid", "main"}, {"GPU-0::3"}}}});
  book_.offer({{"m", {{"GPU-0", 10}}}});
  EXPECT_EQ(book_.sizes().granted, (GrantedSizes{{"m", {{"GPU-0::3", 40}}}}));
  EXPECT_EQ(book_.sizes().offered, (OfferedSizes{{"m", {{"GPU-0", 10}}}}));
}

TEST_F(Book, GivesTheLastOfAGpuToOneOfTwoCalls) {
  for (int round = 0; round < 50; ++round) {
    LedgerBook book({.changed = [] {}, .has_sources = [] { return true; }});
    book.learn({.begun = LedgerTime::clock::now(), .pod_resources = std::vector<Holding>{}});
    std::atomic<int> granted = 0;
    {
      std::vector<std::jthread> calls;
      for (const char* resource : {"nvidia.com/gpu", "example.com/gpu"}) {
        calls.emplace_back([&book, &granted, resource] {
          if (book.grant({.resource = resource, .shares = {"GPU-0"}, .sizes = {}}, is_free)) {
            ++granted;
          }
        });
      }
    }
    ASSERT_EQ(granted, 1);
  }
}

}  // namespace
}  // namespace tranche
