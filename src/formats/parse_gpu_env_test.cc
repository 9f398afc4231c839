// SPDX-License-Identifier: Apache-2.0
#include "formats/parse_gpu_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

GpuEnv must_parse(std::string_view text) {
  const Result<GpuEnv> env = parse_gpu_env(text);
  EXPECT_TRUE(env) << (env ? "" : env.error().message);
  return env ? *env : GpuEnv{};
}

TEST(GpuEnvFile, IsOneLineOfUuidsWithCommas) {
  EXPECT_THAT(must_parse("GPU-a,GPU-b\n").names, ElementsAre("GPU-a", "GPU-b"));
}

TEST(GpuEnvFile, MayLackTheNewlineAndHaveSpacesAndCarriageReturns) {
  EXPECT_THAT(must_parse("GPU-a,GPU-b").names, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_THAT(must_parse("  GPU-a , GPU-b \r\n\r\n").names, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_THAT(must_parse("GPU-a\nGPU-b\n").names, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_THAT(must_parse("GPU-a,,GPU-b,").names, ElementsAre("GPU-a", "GPU-b"));
}

TEST(GpuEnvFile, MayBeWrittenAsAShellReadsIt) {
  EXPECT_THAT(must_parse("NVIDIA_ALLOCATED_DEVICES=GPU-a,GPU-b\n").names,
              ElementsAre("GPU-a", "GPU-b"));
  EXPECT_THAT(must_parse("# by hand\nexport GPUS=\"GPU-a,GPU-b\"  # two\n").names,
              ElementsAre("GPU-a", "GPU-b"));
}

TEST(GpuEnvFile, TakesMigDevicesIndexesAndSharesEachOnce) {
  EXPECT_THAT(must_parse("MIG-c8b1,MIG-GPU-a/7/0").names, ElementsAre("MIG-c8b1", "MIG-GPU-a/7/0"));
  EXPECT_THAT(must_parse("0,2,3:1").names, ElementsAre("0", "2", "3:1"));
  EXPECT_THAT(must_parse("GPU-a::0,GPU-a::7,GPU-b-_-3").names, ElementsAre("GPU-a", "GPU-b"));
}

TEST(GpuEnvFile, GrantsNothingWhenEmpty) {
  for (const char* text : {"", "\n", " \r\n", "none", "void\n", "NVIDIA_ALLOCATED_DEVICES="}) {
    EXPECT_EQ(must_parse(text), GpuEnv{}) << text;
  }
}

TEST(GpuEnvFile, MaySayAll) {
  EXPECT_TRUE(must_parse("all\n").all);
  EXPECT_THAT(must_parse("all\n").names, IsEmpty());
}

TEST(GpuEnvFile, IsRefusedWholeWhenItIsNoText) {
  const auto refused = parse_gpu_env(std::string_view("GPU-a,\0\xff", 8));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("byte 7 is 0"));
  EXPECT_FALSE(
      parse_gpu_env("\x7f"
                    "ELF"));
  EXPECT_THAT(parse_gpu_env("GPU-ä").error().message, HasSubstr("byte 5 is 195"));
}

TEST(GpuEnvFile, IsRefusedWholeWhenAWordIsNoGpu) {
  EXPECT_THAT(parse_gpu_env("GPU-a,GPU-" + std::string(300, 'x')).error().message,
              HasSubstr("…' is no GPU"));
  EXPECT_THAT(parse_gpu_env("<html>404 page not found</html>").error().message,
              HasSubstr("'<html>404' is no GPU"));
  for (const char* text :
       {"$NVIDIA_ALLOCATED_DEVICES", "0:", ":1", "1:2:3", "-1", "nvidia", "GPU"}) {
    EXPECT_FALSE(parse_gpu_env(text)) << text;
  }
  EXPECT_THAT(must_parse("nvidia0").names, ElementsAre("nvidia0"));
}

// `env | grep NVIDIA > /gpu.env` on one of our hosts.
TEST(GpuEnvFile, CountsTheAllocatedDevicesAloneWhereItHasThem) {
  EXPECT_EQ(must_parse("NVIDIA_VISIBLE_DEVICES=all\nNVIDIA_ALLOCATED_DEVICES=GPU-b\nREPLICAS=0\n"),
            (GpuEnv{.names = {"GPU-b"}}));
  EXPECT_EQ(must_parse("NVIDIA_VISIBLE_DEVICES=GPU-a\nNVIDIA_ALLOCATED_DEVICES=\n"), GpuEnv{});
  EXPECT_THAT(parse_gpu_env("A=GPU-a\nB=GPU-b").error().message, HasSubstr("several variables"));
}

}  // namespace
}  // namespace tranche::formats
