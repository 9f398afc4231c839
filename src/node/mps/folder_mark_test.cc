// SPDX-License-Identifier: Apache-2.0
#include "node/mps/folder_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSelf = "/usr/bin/tranche-device-plugin";

FolderEntry folder(const std::string& name) { return {name, S_IFDIR, true, ""}; }

std::vector<FolderEntry> layout() {
  return {folder("client"), folder("log"), {"output", S_IFIFO, true, ""},
          folder("pipe"),   folder("shm"), {"exclusive", S_IFREG, true, ""}};
}

bool is_daemons(const std::vector<FolderEntry>& entries) {
  return has_layout_of_ours(entries, FolderUse::kDaemon, kSelf);
}

TEST(MpsLayout, IsKnownByExactlyWhatAnAgentLeaves) {
  EXPECT_TRUE(is_daemons(layout()));
  EXPECT_TRUE(is_daemons({folder("client"), folder("log"), folder("pipe")}));
  EXPECT_FALSE(is_daemons({folder("log"), folder("pipe")}));
  EXPECT_FALSE(is_daemons({}));
}

TEST(MpsLayout, IsNotOursWithAnythingElseInIt) {
  for (const FolderEntry& other : {folder("src"), FolderEntry{"notes", S_IFREG, true, ""},
                                   FolderEntry{"output", S_IFREG, true, ""},
                                   FolderEntry{"exclusive", S_IFLNK, true, "/etc"}}) {
    std::vector<FolderEntry> entries = layout();
    std::erase_if(entries, [&](const FolderEntry& entry) { return entry.name == other.name; });
    entries.push_back(other);
    EXPECT_FALSE(is_daemons(entries)) << other.name;
  }
}

TEST(MpsLayout, IsNotOursWhereAPartOfItIsALinkOrAnothers) {
  std::vector<FolderEntry> entries = layout();
  entries[3] = {"pipe", S_IFLNK, true, "/"};
  EXPECT_FALSE(is_daemons(entries));
  entries[3] = {"pipe", S_IFDIR, false, ""};
  EXPECT_FALSE(is_daemons(entries));
}

TEST(MpsLayout, OfTheServersLinkLeadsToUs) {
  const auto is_ours = [](const std::string& target) {
    return has_layout_of_ours({{"nvidia-cuda-mps-server", S_IFLNK, true, target}},
                              FolderUse::kServerLink, kSelf);
  };
  EXPECT_TRUE(is_ours(kSelf));
  EXPECT_TRUE(is_ours("/opt/older/tranche-device-plugin"));
  EXPECT_FALSE(is_ours("/usr/bin/nvidia-cuda-mps-server"));
  EXPECT_FALSE(has_layout_of_ours({}, FolderUse::kServerLink, kSelf));
}

TEST(MpsLayout, IsEmptyWithNothingButAMarkThatWasNotFinished) {
  EXPECT_TRUE(is_empty_but_for_us({}));
  EXPECT_TRUE(is_empty_but_for_us({{".tranche-mps.new", S_IFREG, true, ""}}));
  EXPECT_FALSE(is_empty_but_for_us({{".tranche-mps.new", S_IFREG, false, ""}}));
  EXPECT_FALSE(is_empty_but_for_us({{"a", S_IFREG, true, ""}}));
}

class OwnFolder : public testing::Test {
 protected:
  Result<UniqueFd> made() { return make_own_folder(path_, FolderUse::kDaemon, kSelf); }
  Result<UniqueFd> opened() { return open_own_folder(path_, FolderUse::kDaemon, kSelf); }
  std::string mark() const { return path_ + "/" + kMpsMark; }

  TempDir dir_;
  const std::string path_ = dir_.path("d/GPU-a");
};

TEST_F(OwnFolder, IsMarkedWhenItIsMadeAndKnownByThat) {
  ASSERT_TRUE(made());
  EXPECT_THAT(*list_directory(path_), ElementsAre(kMpsMark));
  std::ofstream(path_ + "/anything") << "x";
  EXPECT_TRUE(opened());
  EXPECT_TRUE(made());
}

TEST_F(OwnFolder, IsRemovedWithoutFollowingLinks) {
  std::ofstream(dir_.path("outside")) << "theirs";
  fs::create_directory(dir_.path("folder"));
  std::ofstream(dir_.path("folder/inside")) << "theirs";
  ASSERT_TRUE(made());
  fs::create_directories(path_ + "/a/b");
  fs::create_symlink(dir_.path("outside"), path_ + "/a/file");
  fs::create_directory_symlink(dir_.path("folder"), path_ + "/a/b/folder");
  ASSERT_TRUE(remove_own_folder(path_));
  EXPECT_FALSE(path_exists(path_));
  EXPECT_EQ(*read_file(dir_.path("outside")), "theirs");
  EXPECT_EQ(*read_file(dir_.path("folder/inside")), "theirs");
  EXPECT_EQ(remove_own_folder(path_).error().code, ErrorCode::kNotFound);
}

TEST_F(OwnFolder, IsNoneWithoutTheMark) {
  fs::create_directories(path_);
  EXPECT_FALSE(opened());
  EXPECT_FALSE(remove_own_folder(path_));
  EXPECT_TRUE(path_exists(path_));
}

TEST_F(OwnFolder, IsNoneByAMarkOfSomebodyElse) {
  ASSERT_TRUE(made());
  const std::string text = *read_file(mark());
  const auto expect_none = [&](const char* what) {
    const Status removed = remove_own_folder(path_);
    ASSERT_FALSE(removed) << what;
    EXPECT_THAT(removed.error().message, HasSubstr("not ours")) << what;
    EXPECT_FALSE(opened()) << what;
  };
  std::ofstream(mark()) << "something else";
  expect_none("another text");
  std::ofstream(mark()) << text;
  ASSERT_TRUE(opened());
  ASSERT_EQ(::chmod(mark().c_str(), 0666), 0);
  expect_none("a mark that all may write");
  fs::remove(mark());
  std::ofstream(dir_.path("text")) << text;
  fs::create_symlink(dir_.path("text"), mark());
  expect_none("a link");
  fs::remove(mark());
  ASSERT_EQ(::mkfifo(mark().c_str(), 0644), 0);
  expect_none("a pipe");
  fs::remove(mark());
  if (::geteuid() != 0) return;
  std::ofstream(mark()) << text;
  ASSERT_EQ(::chown(mark().c_str(), 4711, 4711), 0);
  expect_none("a mark of another user");
}

TEST_F(OwnFolder, IsNotMadeOfALinkOrAFile) {
  fs::create_directories(dir_.path("d"));
  fs::create_directory(dir_.path("target"));
  fs::create_directory_symlink(dir_.path("target"), path_);
  EXPECT_THAT(made().error().message, HasSubstr("is not a folder of ours"));
  EXPECT_FALSE(opened());
  EXPECT_TRUE(list_directory(dir_.path("target"))->empty());
  fs::remove(path_);
  std::ofstream(path_) << "x";
  EXPECT_FALSE(made());
}

TEST_F(OwnFolder, IsNoneThatOthersMayWrite) {
  ASSERT_TRUE(made());
  ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
  EXPECT_THAT(made().error().message, HasSubstr("is writable for others"));
  EXPECT_FALSE(remove_own_folder(path_));
}

}  // namespace
}  // namespace tranche::node
