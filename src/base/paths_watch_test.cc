// SPDX-License-Identifier: Apache-2.0
#include "base/paths_watch.h"

#include <poll.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace tranche {
namespace {

class PathsWatchTest : public testing::Test {
 protected:
  PathsWatchTest() {
    std::string name = testing::TempDir() + "paths-watch-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~PathsWatchTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }

  std::string folder_;
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
  watch_.set({folder_, path("missing")});
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
  watch_.set({folder_});
  pollfd fd{watch_.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&fd, 1, 0), 0);
  write("a", "1");
  EXPECT_EQ(::poll(&fd, 1, 0), 1);
}

}  // namespace
}  // namespace tranche
