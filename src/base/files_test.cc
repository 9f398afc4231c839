// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"

namespace tranche {
namespace {

TEST(ReadFile, NamesTheFileThatIsMissing) {
  const auto content = read_file("/nowhere/at/all");
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(content.error().message, "opening /nowhere/at/all: No such file or directory");
}

TEST(ReadFile, RefusesAFileAboveTheLimitInsteadOfCuttingIt) {
  const TempDir dir;
  std::ofstream(dir.path("big")) << std::string(100, 'x');
  EXPECT_TRUE(read_file(dir.path("big"), 100));
  EXPECT_FALSE(read_file(dir.path("big"), 99));
}

TEST(WriteAtomically, WritesContentAndMode) {
  const TempDir dir;
  ASSERT_TRUE(write_atomically(dir.path("a.json"), "one", 0640));
  ASSERT_TRUE(write_atomically(dir.path("a.json"), "two", 0640));
  EXPECT_EQ(*read_file(dir.path("a.json")), "two");
  struct stat status{};
  ASSERT_EQ(::stat(dir.path("a.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  EXPECT_EQ(*list_directory(dir.path()), (std::vector<std::string>{"a.json"}));
}

TEST(WriteAtomically, LeavesNothingBehindWhereItFails) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("target"));
  std::ofstream(dir.path("target/keep")) << "x";
  // A directory cannot be replaced by a file: the last step fails.
  EXPECT_FALSE(write_atomically(dir.path("target"), "content"));
  EXPECT_EQ(*list_directory(dir.path()), (std::vector<std::string>{"target"}));
}

TEST(MakeDirectories, MakesAllOfThemAndIsContentWithThoseThatAreThere) {
  const TempDir dir;
  EXPECT_TRUE(make_directories(dir.path("a/b/c")));
  EXPECT_TRUE(make_directories(dir.path("a/b/c")));
  EXPECT_TRUE(path_exists(dir.path("a/b/c")));
  std::ofstream(dir.path("file")) << "x";
  EXPECT_FALSE(make_directories(dir.path("file/below")));
}

TEST(Below, JoinsARootAndAnAbsolutePath) {
  EXPECT_EQ(below("/", "/dev/nvidia0"), "/dev/nvidia0");
  EXPECT_EQ(below("/driver-root/", "/dev/nvidia0"), "/driver-root/dev/nvidia0");
  EXPECT_EQ(below("", "/x"), "/x");
}

TEST(ParentOf, IsTheFolderPart) {
  EXPECT_EQ(parent_of("/a/b.sock"), "/a");
  EXPECT_EQ(parent_of("/b.sock"), "/");
  EXPECT_EQ(parent_of("b.sock"), ".");
}

}  // namespace
}  // namespace tranche
