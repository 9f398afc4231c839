// SPDX-License-Identifier: Apache-2.0
#include "os/settings/memory_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::os {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kGiB = 1U << 30U;

std::string problem_of(const Result<std::uint64_t>& size) {
  return size ? "read as " + std::to_string(*size) : size.error().message;
}

TEST(MemorySize, IsReadInBothWaysOfWritingIt) {
  EXPECT_EQ(*parse_memory_size("4GiB"), 4 * kGiB);
  EXPECT_EQ(*parse_memory_size("4Gi"), 4 * kGiB);
  EXPECT_EQ(*parse_memory_size("512MiB"), 512 * kMiB);
  EXPECT_EQ(*parse_memory_size("512Mi"), 512 * kMiB);
  EXPECT_EQ(*parse_memory_size("2TiB"), 2048 * kGiB);
  EXPECT_EQ(*parse_memory_size("0004GiB"), 4 * kGiB);
}

TEST(MemorySize, MayBeAFractionThatIsAWholeNumberOfMebibytes) {
  EXPECT_EQ(*parse_memory_size("1.5GiB"), 1536 * kMiB);
  EXPECT_EQ(*parse_memory_size("0.25Gi"), 256 * kMiB);
  EXPECT_EQ(*parse_memory_size("2.0MiB"), 2 * kMiB);
  EXPECT_EQ(*parse_memory_size("1.000000000GiB"), kGiB);
  for (const char* text : {"1.3GiB", "0.5MiB", "1.0000000001GiB"}) {
    EXPECT_THAT(problem_of(parse_memory_size(text)), HasSubstr("a whole number of MiB")) << text;
  }
}

TEST(MemorySize, HasBounds) {
  EXPECT_EQ(*parse_memory_size("1MiB"), kMiB);
  EXPECT_EQ(*parse_memory_size("16TiB"), kMostMemory);
  for (const char* text :
       {"0GiB", "0.0GiB", "17TiB", "16.1TiB", "16385GiB", "99999999999999999999GiB"}) {
    EXPECT_THAT(problem_of(parse_memory_size(text)), HasSubstr("from 1MiB to 16TiB, found"))
        << text;
  }
}

TEST(MemorySize, SaysWhatWasMostLikelyMeant) {
  EXPECT_THAT(problem_of(parse_memory_size("4GB")),
              HasSubstr("powers of 1024 here; did you mean 4GiB?"));
  EXPECT_THAT(problem_of(parse_memory_size("512M")), HasSubstr("did you mean 512MiB?"));
  EXPECT_THAT(problem_of(parse_memory_size("4gib")), HasSubstr("; did you mean 4GiB?"));
  EXPECT_THAT(problem_of(parse_memory_size("4096")), HasSubstr("give the unit: MiB or GiB"));
}

TEST(MemorySize, RefusesWhatIsNone) {
  for (const char* text : {"", "GiB", "x", "-1GiB", "+1GiB", ".5GiB", "5.GiB", "1.2.3GiB", "4 GiB",
                           "4KiB", "4GiBs", "1e3MiB", "0x10MiB", "4GiB "}) {
    EXPECT_THAT(problem_of(parse_memory_size(text)), HasSubstr("expected a size with its unit"))
        << text;
  }
}

TEST(MemoryUnit, IsASizeOrAUnitAlone) {
  EXPECT_EQ(*parse_memory_unit("GiB"), kGiB);
  EXPECT_EQ(*parse_memory_unit("MiB"), kMiB);
  EXPECT_EQ(*parse_memory_unit("Gi"), kGiB);
  EXPECT_EQ(*parse_memory_unit("256MiB"), 256 * kMiB);
  EXPECT_FALSE(parse_memory_unit("GB"));
  EXPECT_FALSE(parse_memory_unit(""));
}

TEST(MemorySizeText, IsReadAsTheSameSize) {
  EXPECT_EQ(memory_size_text(4 * kGiB), "4GiB");
  EXPECT_EQ(memory_size_text(1536 * kMiB), "1536MiB");
  EXPECT_EQ(memory_size_text(kMostMemory), "16384GiB");
}

}  // namespace
}  // namespace tranche::os
