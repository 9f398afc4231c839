// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::testbed::recorder {
namespace {

using testing::HasSubstr;

TEST(Recording, NumbersAnEventWhenItBeginsAndWritesItWhenItEnds) {
  const TempDir dir;
  const auto recording = Recording::open(dir.path("t"));
  ASSERT_TRUE(recording) << recording.error().message;
  const Recording::Place outer = (*recording)->begin();
  (*recording)->add({{"call", "inner"}});
  (*recording)->finish(outer, {{"call", "outer"}});
  const auto lines = split(*read_file(dir.path("t")), '\n');
  ASSERT_EQ(lines.size(), 3U);
  const Json first = Json::parse(lines[0]);
  EXPECT_EQ(first["n"], 2);
  EXPECT_EQ(first["call"], "inner");
  EXPECT_EQ(first["at"].get<std::string>().size(),
            std::string("2026-01-31T23:59:59.123456Z").size());
  EXPECT_EQ(Json::parse(lines[1])["n"], 1);
  EXPECT_EQ(lines[2], "");
}

TEST(Recording, BeginsItsFileAnew) {
  const TempDir dir;
  ASSERT_TRUE(write_atomically(dir.path("t"), "old\n"));
  const auto recording = Recording::open(dir.path("t"));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(*read_file(dir.path("t")), "");
}

TEST(Recording, WritesNamesThatAreNoText) {
  const TempDir dir;
  const auto recording = Recording::open(dir.path("t"));
  ASSERT_TRUE(recording) << recording.error().message;
  (*recording)->add({{"call", "\xff"}});
  EXPECT_EQ(Json::parse(*read_file(dir.path("t")))["call"], "\xef\xbf\xbd");
}

TEST(Recording, NamesTheFileThatCannotBeWritten) {
  const auto nowhere = Recording::open("/nowhere/t");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, "opening /nowhere/t: No such file or directory");
  const auto full = Recording::open("/dev/full");
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_TRUE((*full)->written());
  (*full)->add({{"call", "lost"}});
  const Status written = (*full)->written();
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("writing /dev/full: No space left"));
}

}  // namespace
}  // namespace tranche::testbed::recorder
