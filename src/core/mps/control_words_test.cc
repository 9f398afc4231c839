// SPDX-License-Identifier: Apache-2.0
#include "core/mps/control_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/mps/mps_timings.h"

namespace tranche::core {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MpsControlWords, SetLimitsByOrdinalInMib) {
  EXPECT_EQ(set_default_limit(0, 20ULL << 30), "set_default_device_pinned_mem_limit 0 20480M");
  EXPECT_EQ(set_default_limit(1, std::nullopt), "set_default_device_pinned_mem_limit 1 0");
  EXPECT_EQ(set_server_limit(503, 2, 512ULL << 20), "set_device_pinned_mem_limit 503 2 512M");
}

TEST(MpsControlWords, KnowALimitByWhatTheDaemonSaysOfIt) {
  EXPECT_TRUE(shows_limit("20G\n", 20ULL << 30));
  EXPECT_TRUE(shows_limit("4G\n", 4500ULL << 20));
  EXPECT_FALSE(shows_limit("30G\n", 20ULL << 30));
  EXPECT_FALSE(shows_limit("", 20ULL << 30));
  EXPECT_FALSE(shows_limit("4G\n", std::nullopt));
  EXPECT_TRUE(shows_limit("", std::nullopt));
  EXPECT_TRUE(shows_limit("", 512ULL << 20));
  EXPECT_TRUE(shows_limit("0G", 512ULL << 20));
  EXPECT_TRUE(shows_limit("Server 7 not found\n", 20ULL << 30));
}

TEST(MpsControlWords, KnowAPercentageByWhatTheDaemonSaysOfIt) {
  EXPECT_TRUE(shows_percentage("33.3\n", "33.333"));
  EXPECT_TRUE(shows_percentage("100.0\n", ""));
  EXPECT_FALSE(shows_percentage("10.0\n", ""));
  EXPECT_TRUE(shows_percentage("Server 7 not found\n", ""));
}

TEST(MpsControlWords, FindCommandsThatChangeSomethingInTheLog) {
  EXPECT_EQ(command_taken("[2026-11-16 19:44:33.951 Control   538] Cmd:terminate_client 5 6"),
            "terminate_client 5 6");
  EXPECT_EQ(command_taken("[x Control 5] Cmd:set_device_pinned_mem_limit 5 0 32G\n"),
            "set_device_pinned_mem_limit 5 0 32G");
  EXPECT_EQ(command_taken("[x Control 5] Cmd:get_server_list"), "");
  EXPECT_EQ(command_taken("[x Control 5] NEW UI"), "");
}

TEST(MpsControlWords, FindPidsAndNothingElse) {
  EXPECT_THAT(parse_pids("503\n581\n"), ElementsAre(503, 581));
  EXPECT_THAT(parse_pids(""), IsEmpty());
  EXPECT_THAT(parse_pids("Server 1 not found\n"), IsEmpty());
  EXPECT_THAT(parse_pids("-1\n0\n"), IsEmpty());
}

TEST(MpsControlWords, KnowAServerInTrouble) {
  EXPECT_EQ(server_problem(5, "ACTIVE\n"), "");
  EXPECT_EQ(server_problem(5, "INITIALIZING\n"), "");
  EXPECT_EQ(server_problem(5, "Server 5 not found\n"), "");
  EXPECT_THAT(server_problem(5, "FAULT\n"), HasSubstr("server 5 is in state FAULT"));
  EXPECT_THAT(server_problem(5, "ODD\n"), HasSubstr("says 'ODD'"));
}

TEST(MpsControlWords, ShowACommandThatATerminalDoesNotObey) {
  EXPECT_EQ(command_taken("[x Control 1] Cmd:set_x\x1b[1A\x1b]0;pwned\x07\xff"),
            "set_x?[1A?]0;pwned??");
}

TEST(MpsControlWords, LogOnlyWhatAPersonWants) {
  EXPECT_FALSE(is_worth_logging("[x Control   659] Server 665 exited with status 0"));
  EXPECT_TRUE(is_worth_logging("[x Control   679] Server 685 exited with status 1"));
  EXPECT_FALSE(is_worth_logging("[x Control   659] NEW UI"));
  // The server logs this for every client that ends.
  EXPECT_FALSE(
      is_worth_logging("[x Server   665] Server failed to recevie command with status "
                       "806, assuming client {PID: 663, Context ID: 1} exit"));
  EXPECT_TRUE(is_worth_logging("An instance of this daemon is already running"));
  EXPECT_TRUE(is_worth_logging("cannot run /x/nvidia-cuda-mps-server: No such file"));
}

TEST(MpsCanary, IsJudgedByWhatItSays) {
  EXPECT_TRUE(judge_canary(kCanaryThrough, "").through);
  EXPECT_TRUE(judge_canary(kCanaryFull, "").through);
  EXPECT_TRUE(judge_canary(kCanaryNoLibrary, "").no_library);
  EXPECT_THAT(judge_canary(std::nullopt, "").problem, HasSubstr("hangs"));
  EXPECT_THAT(judge_canary(1, "cuInit: CUDA error 805\n").problem,
              HasSubstr("does not get through: cuInit: CUDA error 805"));
  EXPECT_THAT(judge_canary(127, "").problem, HasSubstr("exit code 127"));
}

TEST(MpsBackoff, DoublesUpToItsMost) {
  const MpsTimings timings{.least_backoff = milliseconds(1000), .most_backoff = milliseconds(5000)};
  const milliseconds none(0);
  EXPECT_EQ(next_backoff(timings, none, none), milliseconds(1000));
  EXPECT_EQ(next_backoff(timings, milliseconds(1000), none), milliseconds(2000));
  EXPECT_EQ(next_backoff(timings, milliseconds(4000), none), milliseconds(5000));
  EXPECT_EQ(next_backoff(timings, milliseconds(5000), none), milliseconds(5000));
}

TEST(MpsBackoff, BeginsAnewForADaemonThatWasFineForLong) {
  const MpsTimings timings{.least_backoff = milliseconds(1000), .most_backoff = milliseconds(5000)};
  EXPECT_EQ(next_backoff(timings, milliseconds(4000), milliseconds(5001)), milliseconds(1000));
  EXPECT_EQ(next_backoff(timings, milliseconds(4000), milliseconds(4999)), milliseconds(5000));
}

}  // namespace
}  // namespace tranche::core
