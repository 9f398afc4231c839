// SPDX-License-Identifier: Apache-2.0
#include "os/settings/config_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::os {
namespace {

namespace fs = std::filesystem;

class ConfigWatchTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    std::ofstream(dir_.path(name)) << content;
  }

  // The content that the watch returns now; "-" for none.
  std::string taken(ConfigWatch& watch) {
    const auto reading = watch.take(now_);
    if (!reading) return "-";
    return reading->content ? *reading->content : "error: " + reading->content.error().message;
  }

  // The same after the file had time to settle.
  std::string settled(ConfigWatch& watch) {
    EXPECT_EQ(taken(watch), "-");
    now_ += SettlingFile::kSettled;
    return taken(watch);
  }

  static bool is_readable(int fd) {
    pollfd polled{fd, POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
  }

  TempDir dir_;
  std::string path_ = dir_.path("config.yaml");
  ConfigWatch::Clock::time_point now_ = ConfigWatch::Clock::now();
};

TEST_F(ConfigWatchTest, GivesAFileThatWasWrittenInPlaceWhenItHasSettled) {
  write("config.yaml", "old");
  ConfigWatch watch(path_, "old");
  EXPECT_EQ(taken(watch), "-");
  EXPECT_FALSE(watch.due());
  write("config.yaml", "new");
  EXPECT_TRUE(is_readable(watch.fd()));
  EXPECT_EQ(taken(watch), "-");
  EXPECT_EQ(watch.due(), now_ + SettlingFile::kSettled);
  now_ += SettlingFile::kSettled;
  EXPECT_EQ(taken(watch), "new");
  EXPECT_FALSE(watch.due());
}

TEST_F(ConfigWatchTest, GivesNothingWhileAWriterHasTheFileOpen) {
  write("config.yaml", "old");
  ConfigWatch watch(path_, "old");
  std::ofstream writer(path_);  // truncates
  EXPECT_EQ(taken(watch), "-");
  now_ += std::chrono::minutes(1);
  EXPECT_EQ(taken(watch), "-");
  EXPECT_TRUE(watch.waits_long_for_writer(now_));
  writer << "first half, " << std::flush;
  now_ += std::chrono::minutes(1);
  EXPECT_EQ(settled(watch), "-");
  writer << "second half";
  writer.close();
  EXPECT_EQ(settled(watch), "first half, second half");
}

TEST_F(ConfigWatchTest, WaitsBetweenTwoWritersOfOneFile) {
  write("config.yaml", "old");
  ConfigWatch watch(path_, "old");
  write("config.yaml", "");
  EXPECT_EQ(taken(watch), "-");
  now_ += SettlingFile::kSettled / 2;
  std::ofstream(path_, std::ios::app) << "new";
  EXPECT_EQ(taken(watch), "-");
  now_ += SettlingFile::kSettled / 2;
  EXPECT_EQ(settled(watch), "new");
}

TEST_F(ConfigWatchTest, GivesAFileThatWasRenamedIntoPlaceAtOnce) {
  write("config.yaml", "old");
  ConfigWatch watch(path_, "old");
  write("next", "new");
  fs::rename(dir_.path("next"), path_);
  EXPECT_EQ(taken(watch), "new");
}

TEST_F(ConfigWatchTest, GivesAConfigMapAtOnceWhenItsLinkIsSwapped) {
  fs::create_directories(dir_.path("..one"));
  fs::create_directories(dir_.path("..two"));
  write("..one/config.yaml", "old");
  write("..two/config.yaml", "new");
  fs::create_symlink("..one", dir_.path("..data"));
  fs::create_symlink("..data/config.yaml", path_);
  ConfigWatch watch(path_, "old");
  fs::create_symlink("..two", dir_.path("..data_tmp"));
  fs::rename(dir_.path("..data_tmp"), dir_.path("..data"));
  EXPECT_EQ(taken(watch), "new");
  fs::remove_all(dir_.path("..one"));
  EXPECT_EQ(taken(watch), "-");
}

// As NVIDIA's config-manager does it.
TEST_F(ConfigWatchTest, GivesALinkThatWasRemovedAndMadeAgainAtOnce) {
  write("one", "old");
  write("two", "new");
  fs::create_symlink("one", path_);
  ConfigWatch watch(path_, "old");
  fs::remove(path_);
  fs::create_symlink("two", path_);
  EXPECT_EQ(taken(watch), "new");
}

TEST_F(ConfigWatchTest, SaysThatALinkLeadsToNoRegularFile) {
  write("one", "old");
  fs::create_symlink("one", path_);
  ConfigWatch watch(path_, "old");
  fs::remove(path_);
  fs::create_symlink("/dev/null", path_);
  const auto reading = watch.take(now_);
  ASSERT_TRUE(reading);
  EXPECT_EQ(*reading->content, "");
  EXPECT_FALSE(reading->is_regular);
}

// vi with a backup: the file is renamed away, and another one made and written.
TEST_F(ConfigWatchTest, WaitsForAnEditorThatRenamesTheFileAwayAndWritesAnother) {
  write("config.yaml", "old");
  ConfigWatch watch(path_, "old");
  fs::rename(path_, dir_.path("config.yaml~"));
  EXPECT_EQ(taken(watch), "-");
  std::ofstream writer(path_);
  writer << "ne" << std::flush;
  EXPECT_EQ(settled(watch), "-");
  writer << "w";
  writer.close();
  EXPECT_EQ(settled(watch), "new");
}

TEST_F(ConfigWatchTest, HearsWritersOfAFileInAnotherFolder) {
  fs::create_directories(dir_.path("elsewhere"));
  write("elsewhere/real.yaml", "old");
  fs::create_symlink(dir_.path("elsewhere/real.yaml"), path_);
  ConfigWatch watch(path_, "old");
  std::ofstream writer(dir_.path("elsewhere/real.yaml"));
  writer << "ne" << std::flush;
  EXPECT_TRUE(is_readable(watch.fd()));
  EXPECT_EQ(settled(watch), "-") << "it is open";
  writer << "w";
  writer.close();
  EXPECT_TRUE(is_readable(watch.fd()));
  EXPECT_EQ(settled(watch), "new");
}

TEST_F(ConfigWatchTest, SaysThatTheFileIsGoneAndGivesItWhenItIsBack) {
  write("config.yaml", "old");
  ConfigWatch watch(path_, "old");
  fs::remove(path_);
  EXPECT_EQ(settled(watch),
            "error: configuration file: opening " + path_ + ": No such file or directory");
  write("config.yaml", "old");
  EXPECT_EQ(settled(watch), "old");
}

TEST_F(ConfigWatchTest, NoticesAFileInAFolderThatWasMadeAgain) {
  fs::create_directories(dir_.path("folder"));
  write("folder/config.yaml", "old");
  ConfigWatch watch(dir_.path("folder/config.yaml"), "old");
  fs::remove_all(dir_.path("folder"));
  EXPECT_EQ(taken(watch), "-");
  fs::create_directories(dir_.path("folder"));
  write("folder/config.yaml", "new");
  EXPECT_EQ(settled(watch), "new");
  write("folder/config.yaml", "newer");
  EXPECT_TRUE(is_readable(watch.fd()));
  EXPECT_EQ(settled(watch), "newer");
}

TEST_F(ConfigWatchTest, GivesAFileThatHasChangedSinceItWasLoaded) {
  write("config.yaml", "new");
  ConfigWatch watch(path_, "old");
  ASSERT_TRUE(watch.due());
  now_ = *watch.due();
  EXPECT_EQ(taken(watch), "new");
}

TEST_F(ConfigWatchTest, GivesTheFileAsItIsWhenTheCallerInsists) {
  write("config.yaml", "old");
  ConfigWatch watch(path_, "old");
  watch.insist();
  EXPECT_EQ(taken(watch), "old");
  EXPECT_EQ(taken(watch), "-");
}

TEST_F(ConfigWatchTest, ChangesWithoutAPathOnlyWhenTheCallerInsists) {
  ConfigWatch watch("", "");
  EXPECT_EQ(taken(watch), "-");
  watch.insist();
  EXPECT_EQ(taken(watch), "");
  EXPECT_EQ(taken(watch), "-");
}

TEST_F(ConfigWatchTest, DoesNotBlockOnAPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  ConfigWatch watch(path_, "read from the pipe at start");
  EXPECT_FALSE(watch.due());
  watch.insist();
  EXPECT_EQ(taken(watch),
            "error: configuration file: " + path_ + " is no plain file and cannot be read again");
}

}  // namespace
}  // namespace tranche::os
