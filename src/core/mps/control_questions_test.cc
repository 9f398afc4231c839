// SPDX-License-Identifier: Apache-2.0
#include "core/mps/control_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kGiB = 1ULL << 30;

// Gives the prepared answers, otherwise empty ones, and records the questions.
struct Daemon {
  std::map<std::string, std::string> answers;
  std::string mute_at;  // a question that gets no answer
  std::vector<std::string> asked;

  Ask ask() {
    return [this](const std::string& question) -> Result<std::string> {
      asked.push_back(question);
      if (question == mute_at) return Error{ErrorCode::kUnavailable, "it does not answer"};
      return answers[question];
    };
  }
};

TEST(MpsLimits, AreGivenToServersToComeBeforeThoseThatRun) {
  Daemon daemon{.answers = {{"get_server_list", "7\n9\n"}}};
  ASSERT_TRUE(set_memory_limits(daemon.ask(), {20 * kGiB}));
  EXPECT_THAT(daemon.asked,
              ElementsAre("get_server_list", HasSubstr("set_default_device_pinned_mem_limit 0"),
                          HasSubstr(" 7 0 "), HasSubstr(" 9 0 ")));
}

TEST(MpsLimits, ThatAreTakenBackAreSoForServersToCome) {
  Daemon daemon{.answers = {{"get_server_list", "7\n"}}};
  ASSERT_TRUE(set_memory_limits(daemon.ask(), {std::nullopt}));
  EXPECT_EQ(daemon.asked.size(), 2U);
}

TEST(MpsLimits, AreNotGivenWhereAnAnswerIsMissing) {
  Daemon daemon{.mute_at = "get_server_list"};
  EXPECT_FALSE(set_memory_limits(daemon.ask(), {kGiB}));
  EXPECT_EQ(daemon.asked.size(), 1U);
}

TEST(MpsLimits, AreSetAgainThoughNothingSeemsToHaveChanged) {
  Daemon daemon{.answers = {{"get_default_device_pinned_mem_limit 0", "20G\n"},
                            {"get_device_pinned_mem_limit 7 0", "20G\n"},
                            {"get_active_thread_percentage 7", "100.0\n"}}};
  const auto changes = renew_limits(daemon.ask(), {.limits = {20 * kGiB + 1}}, {7});
  ASSERT_TRUE(changes);
  EXPECT_THAT(*changes, testing::IsEmpty());
  EXPECT_EQ(daemon.asked.back(),
            "set_default_device_pinned_mem_limit 0 20480M\nset_device_pinned_mem_limit 7 0 20480M");
}

TEST(MpsLimits, ThatSomebodyElseChangedAreNamedAndSetAgain) {
  Daemon daemon{.answers = {{"get_default_device_pinned_mem_limit 0", "30G\n"},
                            {"get_device_pinned_mem_limit 7 0", ""},
                            {"get_active_thread_percentage 7", "10.0\n"}}};
  const auto changes =
      renew_limits(daemon.ask(), {.limits = {20 * kGiB}, .thread_percentage = "33.333"}, {7});
  ASSERT_TRUE(changes);
  EXPECT_THAT(*changes, ElementsAre("the default limit of device 0 was 30G and not 20480M",
                                    "server 7's limit of device 0 was none and not 20480M",
                                    "server 7's thread percentage was 10.0 and not 33.333"));
  EXPECT_THAT(daemon.asked.back(), HasSubstr("set_active_thread_percentage 7 33.333"));
}

TEST(MpsLimits, AreNotRenewedWhereAnAnswerIsMissing) {
  Daemon daemon{.mute_at = "get_default_device_pinned_mem_limit 0"};
  EXPECT_FALSE(renew_limits(daemon.ask(), {.limits = {kGiB}}, {7}));
}

TEST(MpsServers, AreCountedWithTheirClients) {
  Daemon daemon{.answers = {{"get_server_list", "7\n9\n"},
                            {"get_server_status 7", "ACTIVE\n"},
                            {"get_server_status 9", "ACTIVE\n"},
                            {"get_client_list 7", "100\n101\n"},
                            {"get_client_list 9", "102\n"}}};
  const auto seen = query_servers(daemon.ask());
  ASSERT_TRUE(seen);
  EXPECT_EQ(*seen, (ServersSeen{.servers = {7, 9}, .clients = {100, 101, 102}}));
}

TEST(MpsServers, ThatAreInFaultAreAnError) {
  Daemon daemon{.answers = {{"get_server_list", "7\n"}, {"get_server_status 7", "FAULT\n"}}};
  EXPECT_THAT(query_servers(daemon.ask()).error().message, HasSubstr("FAULT"));
}

TEST(MpsServers, AreNotKnownWhereAnAnswerIsMissing) {
  Daemon daemon{.answers = {{"get_server_list", "7\n"}, {"get_server_status 7", "ACTIVE\n"}},
                .mute_at = "get_client_list 7"};
  EXPECT_THAT(query_servers(daemon.ask()).error().message, HasSubstr("does not answer"));
}

}  // namespace
}  // namespace tranche::core
