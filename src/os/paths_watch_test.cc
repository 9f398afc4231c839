// SPDX-License-Identifier: Apache-2.0
#include "os/paths_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "os/testing/temp_dir.h"

namespace tranche::os {
namespace {

class PathsWatchTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return dir_.path(name); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }

  const TempDir dir_;
  PathsWatch watch_;
};

TEST_F(PathsWatchTest, TellsOfAFileThatIsWrittenInPlace) {
  write("a", "1");
  watch_.set({path("a")});
  EXPECT_FALSE(watch_.drain());
  write("a", "2");
  EXPECT_TRUE(watch_.drain());
  EXPECT_FALSE(watch_.drain());
}

TEST_F(PathsWatchTest, TellsOfANameThatAppearsInAFolderOrIsReplaced) {
  watch_.set({dir_.path(), path("missing")});
  write("a", "1");
  EXPECT_TRUE(watch_.drain());
  std::filesystem::rename(path("a"), path("b"));
  EXPECT_TRUE(watch_.drain());
}

TEST_F(PathsWatchTest, FollowsAPathThatLeadsToAnotherFile) {
  write("a", "1");
  watch_.set({path("a")});
  write("b", "2");
  std::filesystem::rename(path("b"), path("a"));
  watch_.set({path("a")});
  watch_.drain();
  write("a", "3");
  EXPECT_TRUE(watch_.drain());
}

TEST_F(PathsWatchTest, SaysNothingOfPathsThatAreNotWantedAnyMore) {
  write("a", "1");
  write("b", "1");
  watch_.set({path("a"), path("b")});
  watch_.set({path("b")});
  watch_.drain();
  write("a", "2");
  EXPECT_FALSE(watch_.drain());
}

TEST_F(PathsWatchTest, CanBePolled) {
  watch_.set({dir_.path()});
  pollfd fd{watch_.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&fd, 1, 0), 0);
  write("a", "1");
  EXPECT_EQ(::poll(&fd, 1, 0), 1);
}

}  // namespace
}  // namespace tranche::os
