// SPDX-License-Identifier: Apache-2.0
#include "bench/process_figures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/patient_caller.h"

namespace tranche::bench {
namespace {

TEST(StatusValue, IsReadByItsWholeKey) {
  const std::string_view status = "Name:\tx\nVmRSSx:\t1 kB\nVmRSS:\t  8124 kB\nThreads:\t9\n";
  EXPECT_EQ(status_value(status, "VmRSS"), 8124U);
  EXPECT_EQ(status_value(status, "Threads"), 9U);
  EXPECT_EQ(status_value(status, "VmHWM"), 0U);
}

TEST(FirstNumber, IsWhatStandsInFront) {
  EXPECT_EQ(first_number("123456 789 12\n"), 123456U);
  EXPECT_EQ(first_number(" 8124 kB"), 8124U);
  EXPECT_EQ(first_number(""), 0U);
}

TEST(ResidentOfMapping, SumsWhatBelongsToTheFile) {
  const std::string_view smaps =
      "7f01-7f02 r-xp 00000000 08:01 1 /usr/lib/libnvidia-ml.so.1\nSize: 8 kB\nRss: 4 kB\n"
      "7f02-7f03 rw-p 00000000 00:00 0 [heap]\nRss: 64 kB\n"
      "7f03-7f04 r--p 00001000 08:01 1 /usr/lib/libnvidia-ml.so.1\nRss: 12 kB\n";
  EXPECT_EQ(resident_of_mapping(smaps, "libnvidia-ml"), 16U);
  EXPECT_EQ(resident_of_mapping(smaps, "libcuda"), 0U);
}

TEST(MemoryOf, KnowsThisProcess) {
  const Result<MemoryFigures> memory = memory_of(::getpid());
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_GT(memory->resident_kib, 0U);
  EXPECT_GE(memory->peak_kib, memory->resident_kib);
  EXPECT_LE(memory->anonymous_kib, memory->resident_kib);
}

TEST(ActivityOf, KnowsThisProcess) {
  const Result<ActivityFigures> activity = activity_of(::getpid());
  ASSERT_TRUE(activity) << activity.error().message;
  EXPECT_GT(activity->cpu.count(), 0);
  EXPECT_GE(activity->threads, 1U);
}

TEST(ActivityOf, TellsTheDriversThreadFromTheRest) {
  PatientCaller caller;
  // Long enough for the scheduler to have counted it.
  const auto work = [] {
    volatile int i = 0;
    while (i < 10'000'000) i = i + 1;
    return true;
  };
  ASSERT_TRUE(caller.call<bool>(work, std::chrono::minutes(1)).value);
  const Result<ActivityFigures> activity = activity_of(::getpid());
  ASSERT_TRUE(activity);
  EXPECT_GT(activity->driver_cpu.count(), 0);
  EXPECT_LT(activity->driver_cpu, activity->cpu);
}

TEST(SleepsBetween, CountsThreadsThatBeganAndLeavesOutThoseThatEnded) {
  const ActivityFigures before{.sleeps = {{"1", 10}, {"2", 1000}}};
  const ActivityFigures after{.sleeps = {{"1", 15}, {"3", 4}}};
  EXPECT_EQ(sleeps_between(before, after), 9U);
}

TEST(ActivityOf, AProcessThatIsNotThereIsAnError) { EXPECT_FALSE(activity_of(1 << 30)); }

TEST(LoadedBytes, AreThoseOfTheProgramsSegments) {
  const Result<std::uint64_t> bytes = loaded_bytes("/proc/self/exe");
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_GT(*bytes, 1000U);
}

}  // namespace
}  // namespace tranche::bench
