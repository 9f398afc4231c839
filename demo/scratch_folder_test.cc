// SPDX-License-Identifier: Apache-2.0
#include "demo/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::demo {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ScratchFolder, GoesWithAllThatIsInIt) {
  const TempDir parent;
  {
    const auto folder = ScratchFolder::make({parent.path()});
    ASSERT_TRUE(folder) << folder.error().message;
    fs::create_directories(folder->path("a/b"));
    std::ofstream(folder->path("a/b/c")) << "text";
    EXPECT_THAT(folder->path("x"), StartsWith(parent.path() + "/tranche-demo."));
  }
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(ScratchFolder, StaysWhenItsNameIsPassedOn) {
  const TempDir parent;
  auto made = ScratchFolder::make({parent.path()});
  ASSERT_TRUE(made);
  const ScratchFolder folder = *std::move(made);
  EXPECT_TRUE(fs::exists(folder.path()));
}

TEST(ScratchFolder, PassesOverFoldersThatWillNotDo) {
  const TempDir parent;
  const std::string too_long = parent.path("a-folder-with-a-long-name");
  fs::create_directories(too_long);
  const auto folder = ScratchFolder::make({"/nowhere", too_long, parent.path()});
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_TRUE(fs::is_empty(too_long));
}

TEST(ScratchFolder, SaysWhyThereIsNone) {
  const auto folder = ScratchFolder::make({"/nowhere", "/a/path/that/is/too/long/for/sockets"});
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("TMPDIR"));
  EXPECT_THAT(folder.error().message, HasSubstr("/nowhere: No such file"));
  EXPECT_THAT(folder.error().message, HasSubstr("too long for sockets"));
}

TEST(ScratchFolder, IsNotMadeWhereLibrariesCannotBeLoaded) {
  for (const char* mounted : {"/proc", "/sys", "/run", "/dev/shm", "/dev/mqueue", "/tmp"}) {
    struct statvfs info{};
    if (::statvfs(mounted, &info) != 0 || (info.f_flag & ST_NOEXEC) == 0) continue;
    const auto folder = ScratchFolder::make({mounted});
    ASSERT_FALSE(folder);
    EXPECT_THAT(folder.error().message, HasSubstr(std::string(mounted) + ": mounted noexec"));
    return;
  }
  GTEST_SKIP() << "SKIPPED: this machine mounts nothing noexec";
}

}  // namespace
}  // namespace tranche::demo
