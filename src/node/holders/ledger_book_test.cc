// SPDX-License-Identifier: Apache-2.0
#include "node/holders/ledger_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGpu = "nvidia.com/gpu";

Status allows(const Ledger&) { return Done{}; }

// A whole device that is free.
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

  LedgerBook a_book(LedgerSizes recalled = {}) {
    return {{.changed = [this] { ++changes_; },
             .has_sources = [this] { return has_sources_; },
             .keep = [this](const LedgerSizes& sizes) -> Status {
               if (!can_keep_) return Error{ErrorCode::kUnavailable, "disk full"};
               kept_ = sizes;
               return Done{};
             }},
            std::move(recalled)};
  }

  bool has_sources_ = true;
  bool can_keep_ = true;
  LedgerSizes kept_;
  std::atomic<int> changes_ = 0;
  LedgerBook book_ = a_book();
};

TEST_F(Book, GrantsNothingBeforeASourceHasAnswered) {
  const Status granted = grant();
  ASSERT_FALSE(granted);
  EXPECT_THAT(granted.error().message, HasSubstr("unknown which devices other containers hold"));
  know_that_nothing_is_held();
  EXPECT_TRUE(grant());
}

// Nothing would ever report the end of the grant.
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

const Holding kHeld{"m", {"", "", "uid", "main"}, {"GPU-0::3"}};

TEST_F(Book, KeepsTheSizesThatAnEarlierAgentGranted) {
  LedgerBook book =
      a_book({.granted = {}, .offered = {{"m", {{"GPU-0", 40}}}}, .offered_before = {}});
  book.offer({{"m", {{"GPU-0", 10}}}});
  book.learn({.begun = LedgerTime::clock::now(), .checkpoint = std::vector<Holding>{kHeld}});
  book.offer({{"m", {{"GPU-0", 10}}}});
  EXPECT_EQ(book.sizes().granted, (GrantedSizes{{"m", {{"GPU-0::3", 40}}}}));
  EXPECT_EQ(kept_.granted, book.sizes().granted);
  EXPECT_EQ(kept_.offered, (OfferedSizes{{"m", {{"GPU-0", 10}}}}));
}

// A share gets another holder and size before the file is written again.
TEST_F(Book, KeepsASizeBeforeItAnswersWhereTheFileHasTheLastHoldersOne) {
  LedgerBook book =
      a_book({.granted = {{"m", {{"GPU-0::3", 1}}}}, .offered = {}, .offered_before = {}});
  book.learn({.begun = LedgerTime::clock::now(), .checkpoint = std::vector<Holding>{}});
  const LedgerBook::Grant grant{.resource = "m", .shares = {"GPU-0::3"}, .sizes = {{"GPU-0", 5}}};
  can_keep_ = false;
  EXPECT_FALSE(book.grant(grant, allows));
  EXPECT_THAT(book.get()->holdings, IsEmpty());
  can_keep_ = true;
  EXPECT_TRUE(book.grant(grant, allows));
  EXPECT_EQ(kept_.granted, (GrantedSizes{{"m", {{"GPU-0::3", 5}}}}));
}

TEST_F(Book, WaitsForTheFirstAnswerOfASource) {
  const std::jthread answer([this] { know_that_nothing_is_held(); });
  EXPECT_TRUE(grant());
}

TEST_F(Book, GivesTheLastOfAGpuToOneOfTwoCalls) {
  for (int round = 0; round < 50; ++round) {
    LedgerBook book = a_book();
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
}  // namespace tranche::node
