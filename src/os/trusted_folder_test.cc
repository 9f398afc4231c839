// SPDX-License-Identifier: Apache-2.0
#include "os/trusted_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::os {
namespace {

namespace fs = std::filesystem;

class TrustedFolders : public testing::Test {
 protected:
  std::string problem(const std::string& path) {
    const auto opened = open_trusted_folder(path);
    return opened ? "" : opened.error().message;
  }
  void set_mode(const std::string& path, mode_t mode) { ASSERT_EQ(::chmod(path.c_str(), mode), 0); }

  TempDir dir_;
};

TEST_F(TrustedFolders, AreOursInAPlaceThatIsOurs) {
  fs::create_directories(dir_.path("a/b"));
  const auto opened = open_trusted_folder(dir_.path("a//./b/../b/"));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_FALSE(opened->others_may_write);
}

TEST_F(TrustedFolders, ThatAreMissingAreSaidToBe) {
  const auto opened = open_trusted_folder(dir_.path("a/b"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(opened.error().message, "there is no " + dir_.path("a"));
}

TEST_F(TrustedFolders, AreMadeWhereThatIsAskedFor) {
  ASSERT_TRUE(open_trusted_folder(dir_.path("a/b"), Missing::kIsMade));
  EXPECT_TRUE(fs::is_directory(dir_.path("a/b")));
}

TEST_F(TrustedFolders, TellWhetherOthersMayWriteThem) {
  fs::create_directory(dir_.path("a"));
  for (const mode_t mode : {0777U, 01777U, 0757U}) {
    set_mode(dir_.path("a"), mode);
    const auto opened = open_trusted_folder(dir_.path("a"));
    ASSERT_TRUE(opened);
    EXPECT_TRUE(opened->others_may_write);
  }
}

TEST_F(TrustedFolders, AreNoneWhereOthersMayReplaceWhatIsOnTheWay) {
  fs::create_directories(dir_.path("a/b"));
  set_mode(dir_.path("a"), 0777);
  EXPECT_EQ(problem(dir_.path("a/b")),
            dir_.path("a") + " may be written by others than root, who can replace what is in it");
  // Like /tmp: only the owner moves or removes a folder there.
  set_mode(dir_.path("a"), 01777);
  EXPECT_EQ(problem(dir_.path("a/b")), "");
}

TEST_F(TrustedFolders, AreNoLinks) {
  fs::create_directory(dir_.path("real"));
  fs::create_directory_symlink("real", dir_.path("link"));
  EXPECT_EQ(problem(dir_.path("link")), dir_.path("link") + " is a link; give the folder itself");
  EXPECT_EQ(problem(dir_.path("link/")), dir_.path("link") + " is a link; give the folder itself");
}

// /var/run is one on most nodes.
TEST_F(TrustedFolders, MayHaveLinksOfOursOnTheWay) {
  fs::create_directories(dir_.path("real/a"));
  fs::create_directory_symlink("real", dir_.path("relative"));
  fs::create_directory_symlink(dir_.path("real"), dir_.path("absolute"));
  EXPECT_EQ(problem(dir_.path("relative/a")), "");
  EXPECT_EQ(problem(dir_.path("absolute/a")), "");
  set_mode(dir_.path("real"), 0777);
  EXPECT_NE(problem(dir_.path("relative/a")), "");
  fs::create_directory_symlink("round", dir_.path("round"));
  EXPECT_EQ(problem(dir_.path("round/a")), dir_.path("round/a") + " has too many links on its way");
}

TEST_F(TrustedFolders, AreFolders) {
  std::ofstream(dir_.path("file")) << "x";
  EXPECT_EQ(problem(dir_.path("file")), dir_.path("file") + " is no folder");
  EXPECT_EQ(problem("relative"), "relative is no absolute path");
}

TEST_F(TrustedFolders, AreNobodyElses) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a folder away needs root";
  fs::create_directories(dir_.path("a/b"));
  ASSERT_EQ(::chown(dir_.path("a").c_str(), 4711, 4711), 0);
  const std::string why = dir_.path("a") + " belongs to user 4711, and not to root";
  EXPECT_EQ(problem(dir_.path("a")), why);
  EXPECT_EQ(problem(dir_.path("a/b")), why);
  const auto made = open_trusted_folder(dir_.path("a/c"), Missing::kIsMade);
  EXPECT_FALSE(made);
  EXPECT_FALSE(fs::exists(dir_.path("a/c")));
  // So is a link of another user.
  fs::create_directories(dir_.path("real/x"));
  fs::create_directory_symlink("real", dir_.path("link"));
  ASSERT_EQ(::lchown(dir_.path("link").c_str(), 4711, 4711), 0);
  EXPECT_EQ(problem(dir_.path("link/x")),
            dir_.path("link") + " belongs to user 4711, and not to root");
}

// Root's own group is root.
TEST_F(TrustedFolders, MayBeWrittenByTheGroupOfRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a folder to a group needs root";
  fs::create_directories(dir_.path("a/b"));
  set_mode(dir_.path("a"), 0775);
  EXPECT_EQ(problem(dir_.path("a/b")), "");
  ASSERT_EQ(::chown(dir_.path("a").c_str(), 0, 4711), 0);
  EXPECT_NE(problem(dir_.path("a/b")), "");
}

}  // namespace
}  // namespace tranche::os
