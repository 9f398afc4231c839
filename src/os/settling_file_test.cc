// SPDX-License-Identifier: Apache-2.0
#include "os/settling_file.h"

#include <gtest/gtest.h>

namespace tranche::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = SettlingFile::Clock::time_point;

FileLook file(const std::string& content, std::uint64_t inode = 1) {
  FileLook look;
  look.is_there = true;
  look.is_regular = true;
  look.identity = {.inode = inode, .size = static_cast<std::int64_t>(content.size())};
  look.content = content;
  return look;
}

constexpr Time kStart{seconds(1000)};
constexpr auto kSettled = SettlingFile::kSettled;

TEST(SettlingFile, TakesAFileWrittenInPlaceWhenTwoLooksFoundTheSame) {
  SettlingFile settling(file("old"));
  settling.take_event(FileEvent::kModified);
  settling.take_event(FileEvent::kClosed);
  EXPECT_FALSE(settling.takes(file("new"), kStart));
  EXPECT_EQ(settling.next_look(), kStart + kSettled);
  EXPECT_FALSE(settling.takes(file("new"), kStart + kSettled - milliseconds(1)));
  EXPECT_TRUE(settling.takes(file("new"), kStart + kSettled));
  EXPECT_FALSE(settling.takes(file("new"), kStart + seconds(9))) << "it is the one in force";
  EXPECT_EQ(settling.next_look(), std::nullopt);
}

TEST(SettlingFile, StartsToWaitAgainWithEachChange) {
  SettlingFile settling(file("old"));
  EXPECT_FALSE(settling.takes(file("n"), kStart));
  EXPECT_FALSE(settling.takes(file("ne"), kStart + milliseconds(400)));
  EXPECT_FALSE(settling.takes(file("new"), kStart + milliseconds(800)));
  EXPECT_EQ(settling.next_look(), kStart + milliseconds(800) + kSettled);
  EXPECT_TRUE(settling.takes(file("new"), kStart + milliseconds(1300)));
}

TEST(SettlingFile, TakesNothingWhileAWriterHasNotClosedTheFile) {
  SettlingFile settling(file("old"));
  settling.take_event(FileEvent::kModified);
  EXPECT_FALSE(settling.takes(file("ha"), kStart));
  EXPECT_FALSE(settling.takes(file("ha"), kStart + seconds(20)));
  EXPECT_FALSE(settling.takes(file("ha"), kStart + std::chrono::hours(1)));
  settling.take_event(FileEvent::kModified);
  settling.take_event(FileEvent::kClosed);
  EXPECT_FALSE(settling.takes(file("half"), kStart + std::chrono::hours(2)));
  EXPECT_TRUE(settling.takes(file("half"), kStart + std::chrono::hours(2) + kSettled));
}

TEST(SettlingFile, SaysOnceThatAWriterDoesNotCloseTheFile) {
  SettlingFile settling(file("old"));
  settling.take_event(FileEvent::kModified);
  EXPECT_FALSE(settling.takes(file("ha"), kStart));
  EXPECT_FALSE(settling.waits_long_for_writer(kStart + seconds(29)));
  EXPECT_EQ(settling.next_look(), kStart + seconds(30));
  EXPECT_TRUE(settling.waits_long_for_writer(kStart + seconds(30)));
  EXPECT_FALSE(settling.waits_long_for_writer(kStart + seconds(31)));
  EXPECT_EQ(settling.next_look(), std::nullopt) << "the writer will be heard";
}

TEST(SettlingFile, TakesAReplacedFileAtOnce) {
  SettlingFile settling(file("old"));
  settling.take_event(FileEvent::kReplaced);
  EXPECT_TRUE(settling.takes(file("new", 2), kStart));
}

TEST(SettlingFile, WaitsForAFileThatWasReplacedAndThenWrittenTo) {
  SettlingFile settling(file("old"));
  settling.take_event(FileEvent::kReplaced);
  settling.take_event(FileEvent::kModified);
  EXPECT_FALSE(settling.takes(file("ne", 2), kStart));
}

TEST(SettlingFile, IsNotHeldUpByAWriterOfTheFileThatWasReplaced) {
  SettlingFile settling(file("old"));
  settling.take_event(FileEvent::kModified);
  EXPECT_FALSE(settling.takes(file("ol"), kStart));
  settling.take_event(FileEvent::kReplaced);
  EXPECT_TRUE(settling.takes(file("new", 2), kStart));
}

TEST(SettlingFile, WaitsWhetherADeletedFileComesBack) {
  SettlingFile settling(file("old"));
  FileLook gone;
  gone.problem = "no such file";
  EXPECT_FALSE(settling.takes(gone, kStart));
  EXPECT_FALSE(settling.takes(file("old", 2), kStart + milliseconds(100)));
  EXPECT_FALSE(settling.takes(file("old", 2), kStart + seconds(5))) << "it is as it was";
  EXPECT_FALSE(settling.takes(gone, kStart + seconds(6)));
  EXPECT_TRUE(settling.takes(gone, kStart + seconds(7)));
  EXPECT_FALSE(settling.takes(file("old", 3), kStart + seconds(8)));
  EXPECT_TRUE(settling.takes(file("old", 3), kStart + seconds(9))) << "it was missing before";
}

TEST(SettlingFile, IsUnchangedWhereOnlyItsTimeIsNew) {
  SettlingFile settling(file("old"));
  FileLook touched = file("old");
  touched.identity.nanoseconds = 5;
  EXPECT_FALSE(settling.takes(touched, kStart));
  EXPECT_FALSE(settling.takes(touched, kStart + kSettled));
  EXPECT_EQ(settling.next_look(), std::nullopt);
}

TEST(SettlingFile, IsTakenAsItIsWhereTheCallerInsists) {
  SettlingFile settling(file("old"));
  settling.insist();
  EXPECT_TRUE(settling.takes(file("old"), kStart));
  EXPECT_FALSE(settling.takes(file("old"), kStart));
  settling.take_event(FileEvent::kModified);
  settling.insist();
  EXPECT_TRUE(settling.takes(file("ne"), kStart));
}

}  // namespace
}  // namespace tranche::os
