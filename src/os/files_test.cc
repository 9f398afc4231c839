// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/path.h"
#include "os/testing/temp_dir.h"

namespace tranche::os {
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

TEST(ReadFile, NeverWaitsForAPipe) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.path("pipe").c_str(), 0600), 0);
  const auto content = read_file(dir.path("pipe"));
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().message, dir.path("pipe") + " is no plain file");
}

TEST(ReadFile, TakesNoFolderAndNoDeviceWithoutAnEnd) {
  const TempDir dir;
  EXPECT_FALSE(read_file(dir.path()));
  EXPECT_FALSE(read_file("/dev/zero"));
  EXPECT_EQ(*read_file("/dev/null"), "");
}

TEST(ReadFile, FollowsLinksAndReadsWhatTheKernelMakesUp) {
  const TempDir dir;
  std::ofstream(dir.path("file")) << "content";
  std::filesystem::create_symlink("file", dir.path("link"));
  EXPECT_EQ(*read_file(dir.path("link")), "content");
  // Its size is 0 by the inode.
  EXPECT_NE(read_file("/proc/self/status")->find("Pid:"), std::string::npos);
}

TEST(ReadPlainFile, TakesNoLinkAndNoPipe) {
  const TempDir dir;
  std::ofstream(dir.path("file")) << "content";
  std::filesystem::create_symlink("file", dir.path("link"));
  ASSERT_EQ(::mkfifo(dir.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(*read_plain_file(dir.path("file"), 100), "content");
  EXPECT_FALSE(read_plain_file(dir.path("link"), 100));
  EXPECT_FALSE(read_plain_file(dir.path("pipe"), 100));
  EXPECT_FALSE(read_plain_file("/dev/null", 100));
}

TEST(WriteAtomically, ReplacesALinkInsteadOfWritingWhereItLeads) {
  const TempDir dir;
  std::ofstream(dir.path("elsewhere")) << "theirs";
  std::filesystem::create_symlink("elsewhere", dir.path("a.json"));
  ASSERT_TRUE(write_atomically(dir.path("a.json"), "ours"));
  EXPECT_EQ(*read_file(dir.path("elsewhere")), "theirs");
  EXPECT_EQ(*read_plain_file(dir.path("a.json"), 100), "ours");
}

class PrivateFolder : public testing::Test {
 protected:
  TempDir dir_;
};

TEST_F(PrivateFolder, IsMadeForItsOwnerAlone) {
  ASSERT_TRUE(make_private_directory(dir_.path("a/state")));
  struct stat status{};
  ASSERT_EQ(::stat(dir_.path("a/state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_TRUE(make_private_directory(dir_.path("a/state")));
}

TEST_F(PrivateFolder, MayBeReadByOthersWhereSomebodyMadeItSo) {
  std::filesystem::create_directory(dir_.path("state"));
  ASSERT_EQ(::chmod(dir_.path("state").c_str(), 0755), 0);
  EXPECT_TRUE(make_private_directory(dir_.path("state")));
}

TEST_F(PrivateFolder, LosesTheWritePermissionOfOthers) {
  std::filesystem::create_directory(dir_.path("state"));
  for (const mode_t mode : {0777U, 0770U, 0722U}) {
    ASSERT_EQ(::chmod(dir_.path("state").c_str(), mode), 0);
    const Result<FolderMode> made = make_private_directory(dir_.path("state"));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->found, mode);
    EXPECT_EQ(made->now, mode & ~022U);
    struct stat status{};
    ASSERT_EQ(::stat(dir_.path("state").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, mode & ~022U);
  }
}

TEST_F(PrivateFolder, IsNoneThatIsThereForEverybody) {
  std::filesystem::create_directory(dir_.path("tmp"));
  ASSERT_EQ(::chmod(dir_.path("tmp").c_str(), 01777), 0);
  const Result<FolderMode> made = make_private_directory(dir_.path("tmp"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, dir_.path("tmp") + " is everybody's; give a folder in it");
}

TEST_F(PrivateFolder, IsNoneOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a folder away needs root";
  std::filesystem::create_directory(dir_.path("state"));
  ASSERT_EQ(::chown(dir_.path("state").c_str(), 4711, 4711), 0);
  const Result<FolderMode> made = make_private_directory(dir_.path("state"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, dir_.path("state") + " belongs to user 4711");
}

TEST_F(PrivateFolder, IsNotBehindALinkOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a link away needs root";
  std::filesystem::create_directory(dir_.path("real"));
  std::filesystem::create_directory_symlink("real", dir_.path("state"));
  EXPECT_TRUE(make_private_directory(dir_.path("state")));
  ASSERT_EQ(::lchown(dir_.path("state").c_str(), 4711, 4711), 0);
  const Result<FolderMode> made = make_private_directory(dir_.path("state"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, dir_.path("state") + " belongs to user 4711");
}

TEST_F(PrivateFolder, IsNoFile) {
  std::ofstream(dir_.path("state")) << "x";
  EXPECT_FALSE(make_private_directory(dir_.path("state")));
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

TEST(ListPlainFiles, FollowsLinksAndLeavesOutFolders) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("..2026"));
  std::ofstream(dir.path("..2026/a")) << "x";
  std::filesystem::create_symlink("..2026", dir.path("..data"));
  std::filesystem::create_symlink("..data/a", dir.path("a"));
  std::filesystem::create_symlink("..data/gone", dir.path("gone"));
  std::ofstream(dir.path("b")) << "x";
  EXPECT_EQ(*list_plain_files(dir.path()), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(list_plain_files(dir.path("nowhere")));
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
}  // namespace tranche::os
