// SPDX-License-Identifier: Apache-2.0
#include "node/mps/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "node/mps/testing/own_mounts.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr const char* kOwnMounts = "/proc/self/mountinfo";

TEST(MountTable, IsReadLineByLine) {
  EXPECT_THAT(
      parse_mountinfo("36 35 98:0 / /mnt\\040x rw,noatime shared:12 master:1 - ext3 /dev/a rw\n"
                      "63 36 0:39 /a /mnt rw,nosuid - tmpfs x rw,size=65536k\n"
                      "rubbish\n"
                      "1 2 3 - x\n"),
      ElementsAre(MountLine{"98:0", "/", "/mnt x", true, "ext3"},
                  MountLine{"0:39", "/a", "/mnt", false, "tmpfs"}));
}

SharedMemoryFound good() {
  return {.here = MountLine{"0:39", "/", "/run/x/shm", true, "tmpfs"},
          .bytes = 64 * kMiB,
          .inodes = 16384,
          .is_bound = true,
          .on_host = true};
}

TEST(SharedMemory, IsGivenOnlyAsItIsMeant) {
  EXPECT_EQ(shared_memory_problem(good(), 64 * kMiB), "");
  EXPECT_EQ(shared_memory_problem({}, 64 * kMiB), "no tmpfs is mounted there");
  EXPECT_THAT(shared_memory_problem(good(), 32 * kMiB), HasSubstr("no tmpfs of 32768 KiB"));
  SharedMemoryFound found = good();
  found.is_bound = false;
  EXPECT_NE(shared_memory_problem(found, 64 * kMiB), "");
  found = good();
  found.inodes = 1U << 20U;
  EXPECT_NE(shared_memory_problem(found, 64 * kMiB), "");
  for (const MountLine& other : {MountLine{"8:1", "/", "/run/x/shm", true, "ext4"},
                                 MountLine{"0:39", "/somewhere", "/run/x/shm", true, "tmpfs"}}) {
    found = good();
    found.here = other;
    EXPECT_NE(shared_memory_problem(found, 64 * kMiB), "");
  }
}

TEST(SharedMemory, IsGivenOnlyWhereTheHostHasIt) {
  SharedMemoryFound found = good();
  found.on_host = false;
  EXPECT_THAT(shared_memory_problem(found, 64 * kMiB), HasSubstr("mountPropagation Bidirectional"));
  // Unknown: a propagating mount will be there.
  found.on_host.reset();
  EXPECT_EQ(shared_memory_problem(found, 64 * kMiB), "");
  found.here->is_shared = false;
  EXPECT_NE(shared_memory_problem(found, 64 * kMiB), "");
}

TEST(SharedMemory, HasBoundsOfBytesAndFiles) {
  EXPECT_EQ(shared_memory_options(64 * kMiB), "size=65536k,nr_inodes=16384,mode=1777");
  EXPECT_EQ(shared_memory_options(kMiB), "size=1024k,nr_inodes=1024,mode=1777");
}

class MountedMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_own_mounts()) GTEST_SKIP() << "mounting needs root";
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!IsSkipped()) EXPECT_TRUE(unmount_shared_memory(folder_));
  }

  Status mount(std::uint64_t bytes = kMiB) {
    return mount_shared_memory(folder_, bytes, kOwnMounts);
  }
  dev_t device() const {
    struct stat status = {};
    EXPECT_EQ(::stat(folder_.c_str(), &status), 0);
    return status.st_dev;
  }
  std::size_t mounts() const {
    std::size_t count = 0;
    for (const MountLine& line : parse_mountinfo(*read_file(kOwnMounts))) {
      if (line.point == folder_) ++count;
    }
    return count;
  }

  TempDir dir_;
  const std::string folder_ = dir_.path("a folder/shm");
};

TEST_F(MountedMemory, IsBoundAndEverybodys) {
  ASSERT_TRUE(mount());
  struct statvfs size = {};
  ASSERT_EQ(::statvfs(folder_.c_str(), &size), 0);
  EXPECT_EQ(size.f_blocks * size.f_frsize, kMiB);
  EXPECT_EQ(size.f_files, 1024U);
  EXPECT_EQ(size.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC), ST_NOSUID | ST_NODEV | ST_NOEXEC);
  struct stat status = {};
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 01777U);
  std::ofstream file(folder_ + "/big");
  file << std::string(2 * kMiB, 'x');
  file.flush();
  EXPECT_FALSE(file);
  EXPECT_LE(fs::file_size(folder_ + "/big"), kMiB);
}

TEST_F(MountedMemory, OfAnEarlierAgentIsKeptWhereItIsTheSame) {
  ASSERT_TRUE(mount());
  std::ofstream(folder_ + "/file") << "kept";
  const dev_t before = device();
  ASSERT_TRUE(mount());
  EXPECT_EQ(device(), before);
  EXPECT_EQ(mounts(), 1U);
  EXPECT_EQ(*read_file(folder_ + "/file"), "kept");
}

TEST_F(MountedMemory, OfAnEarlierAgentIsReplacedWhereItDiffers) {
  ASSERT_TRUE(mount(2 * kMiB));
  ASSERT_TRUE(mount());
  EXPECT_EQ(mounts(), 1U);
  ASSERT_TRUE(unmount_shared_memory(folder_));
  // Without the flags, and stacked.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(::mount("x", folder_.c_str(), "tmpfs", 0, shared_memory_options(kMiB).c_str()), 0);
  }
  EXPECT_FALSE(check_shared_memory(folder_, kMiB, kOwnMounts));
  ASSERT_TRUE(mount());
  EXPECT_EQ(mounts(), 1U);
  EXPECT_TRUE(check_shared_memory(folder_, kMiB, kOwnMounts));
}

TEST_F(MountedMemory, IsKnownHoweverItsPathIsWritten) {
  fs::create_directory_symlink("a folder", dir_.path("link"));
  const std::string written = dir_.path("link//.//shm");
  ASSERT_TRUE(mount_shared_memory(written, kMiB, kOwnMounts));
  ASSERT_TRUE(mount_shared_memory(written, kMiB, kOwnMounts));
  EXPECT_EQ(mounts(), 1U);
  ASSERT_TRUE(unmount_shared_memory(written));
  EXPECT_EQ(mounts(), 0U);
}

TEST_F(MountedMemory, IsGoneWhenItIsUnmounted) {
  ASSERT_TRUE(mount());
  ASSERT_TRUE(unmount_shared_memory(folder_));
  EXPECT_EQ(mounts(), 0U);
  EXPECT_THAT(check_shared_memory(folder_, kMiB, kOwnMounts).error().message,
              HasSubstr(folder_ + ": no tmpfs is mounted there"));
}

// The agent's pod, and the host of the containers.
TEST_F(MountedMemory, ThatTheHostDoesNotSeeIsForNobody) {
  Status mounted = Done{};
  std::thread([&] {
    ASSERT_TRUE(have_own_mounts());
    mounted = mount();
    EXPECT_TRUE(unmount_shared_memory(folder_));
  }).join();
  ASSERT_FALSE(mounted);
  EXPECT_THAT(mounted.error().message, HasSubstr("the host does not see the tmpfs"));
}

TEST_F(MountedMemory, ReachesTheHostFromAFolderThatIsShared) {
  ASSERT_TRUE(share_mounts_of(dir_.path()));
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    const Status mounted = mount();
    EXPECT_TRUE(mounted) << mounted.error().message;
  }).join();
  EXPECT_EQ(mounts(), 1U);
  EXPECT_TRUE(check_shared_memory(folder_, kMiB, kOwnMounts));
  EXPECT_TRUE(unmount_shared_memory(folder_));
  EXPECT_EQ(::umount2(dir_.path().c_str(), MNT_DETACH), 0);
}

TEST_F(MountedMemory, ThatMayNotBeMountedIsAnErrorThatSaysWhatIsNeeded) {
  Status mounted = Done{};
  std::thread([&] {
    ASSERT_TRUE(give_up_mounting());
    mounted = mount();
  }).join();
  ASSERT_FALSE(mounted);
  EXPECT_THAT(mounted.error().message, HasSubstr("needs CAP_SYS_ADMIN"));
  EXPECT_EQ(mounts(), 0U);
}

TEST_F(MountedMemory, IsNotMountedThroughALink) {
  fs::create_directory(dir_.path("elsewhere"));
  const std::string link = dir_.path("link");
  fs::create_directory_symlink(dir_.path("elsewhere"), link);
  EXPECT_FALSE(mount_shared_memory(link, kMiB, kOwnMounts));
  EXPECT_TRUE(unmount_shared_memory(dir_.path("elsewhere")));
}

TEST_F(MountedMemory, IsEmptiedOfUnusedFiles) {
  ASSERT_TRUE(mount());
  fs::create_directories(folder_ + "/a/b");
  std::ofstream(folder_ + "/a/b/left") << "x";
  std::ofstream(folder_ + "/left") << "x";
  fs::create_symlink(dir_.path(), folder_ + "/link");
  std::ofstream used(folder_ + "/used");
  used << "x" << std::flush;
  const auto later = std::chrono::system_clock::now() + std::chrono::seconds(10);
  const auto too_young = empty_shared_memory(folder_, {::getpid()}, later - std::chrono::hours(1));
  ASSERT_TRUE(too_young);
  EXPECT_FALSE(*too_young);
  EXPECT_EQ(list_directory(folder_)->size(), 4U);
  const auto emptied = empty_shared_memory(folder_, {::getpid()}, later);
  ASSERT_TRUE(emptied);
  EXPECT_TRUE(*emptied);
  EXPECT_THAT(*list_directory(folder_), ElementsAre("used"));
  EXPECT_TRUE(path_exists(dir_.path("a folder")));
}

TEST_F(MountedMemory, IsEmptiedAlsoWhereNoPathReaches) {
  ASSERT_TRUE(mount());
  const std::string name(250, 'a');
  UniqueFd deep(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 300; ++depth) {
    ASSERT_EQ(::mkdirat(deep.get(), name.c_str(), 0700), 0);
    if (depth % 50 == 0) ASSERT_EQ(::mkdirat(deep.get(), "b", 0700), 0);
    deep.reset(::openat(deep.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ASSERT_EQ(::symlinkat(dir_.path().c_str(), deep.get(), "link"), 0);
  UniqueFd(::openat(deep.get(), "secret", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).reset();
  deep.reset();
  EXPECT_TRUE(empty_shared_memory(folder_, {::getpid()},
                                  std::chrono::system_clock::now() + std::chrono::seconds(10)));
  EXPECT_THAT(*list_directory(folder_), IsEmpty());
  EXPECT_TRUE(path_exists(dir_.path("a folder")));
}

// The owner of the folder beneath does not matter.
TEST_F(MountedMemory, IsNotEmptiedWhereNothingIsMounted) {
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_TRUE(empty_shared_memory(folder_, {},
                                  std::chrono::system_clock::now() + std::chrono::seconds(10)));
  EXPECT_TRUE(path_exists(folder_ + "/file"));
}

}  // namespace
}  // namespace tranche::node
