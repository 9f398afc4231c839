// SPDX-License-Identifier: Apache-2.0
#include "nested/gpu_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche {
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

TEST(GpuEnvFile, IsRefusedWholeWhenAWordIsTooLong) {
  EXPECT_THAT(parse_gpu_env("GPU-a," + std::string(300, 'x')).error().message,
              HasSubstr("too long for a GPU's uuid"));
}

}  // namespace
}  // namespace tranche
