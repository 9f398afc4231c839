// SPDX-License-Identifier: Apache-2.0
#include "mps/control_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mps/timings.h"

namespace tranche {
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

TEST(MpsControlWords, LogOnlyWhatAPersonWants) {
  EXPECT_FALSE(is_worth_logging("[x Control   659] Server 665 exited with status 0"));
  EXPECT_TRUE(is_worth_logging("[x Control   679] Server 685 exited with status 1"));
  EXPECT_FALSE(is_worth_logging("[x Control   659] NEW UI"));
  // So the server tells of every client that ends.
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
}  // namespace tranche
