// SPDX-License-Identifier: Apache-2.0
#include "node/holders/size_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const LedgerSizes kSizes{{{"example.com/mem", {{"GPU-0::abcd-3", 1024}, {"GPU-1::abcd-0", 0}}}},
                         {{"example.com/mem", {{"GPU-0", 2048}}}},
                         {{"example.com/old", {{"GPU-0", 4096}}}}};

class SizeMemoryTest : public testing::Test {
 protected:
  TempDir dir_;
  std::vector<std::string> lines_;
  Log log_{[this](std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(SizeMemoryTest, OutlivesTheAgent) {
  ASSERT_TRUE(SizeMemory(dir_.path("sizes.json"), log_).keep(kSizes));
  EXPECT_EQ(SizeMemory(dir_.path("sizes.json"), log_).recalled(), kSizes);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(SizeMemoryTest, IsEmptyWhereThereIsNoFile) {
  EXPECT_EQ(SizeMemory(dir_.path("sizes.json"), log_).recalled(), LedgerSizes{});
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(SizeMemoryTest, SaysWhichFileCannotBeReadAndGoesOn) {
  ASSERT_TRUE(write_atomically(dir_.path("sizes.json"), R"({"version": 1, "granted": 7})"));
  EXPECT_EQ(SizeMemory(dir_.path("sizes.json"), log_).recalled(), LedgerSizes{});
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("sizes.json")));
}

TEST_F(SizeMemoryTest, SaysOnceThatItCannotBeWritten) {
  SizeMemory memory(dir_.path("no/folder/sizes.json"), log_);
  EXPECT_FALSE(memory.keep(kSizes));
  EXPECT_FALSE(memory.keep(kSizes));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("a restart would forget them")));
}

TEST(SizesText, TakesAnyBytesThatTheKubeletHasForAnId) {
  LedgerSizes odd;
  odd.granted["r"]["GPU-\xff::0"] = 1;
  EXPECT_TRUE(parse_sizes(to_text(odd)));
}

TEST(SizesText, WithMoreThanAnyGpuHasIsRefused) {
  EXPECT_FALSE(parse_sizes(R"({"version": 1, "offered": {}, "offeredBefore": {},
                               "granted": {"r": {"GPU-0::0": 18446744073709551615}}})"));
}

TEST(SizesText, OfAnotherVersionIsRefused) {
  EXPECT_FALSE(parse_sizes(R"({"version": 2, "granted": {}, "offered": {}})"));
}

}  // namespace
}  // namespace tranche::node
