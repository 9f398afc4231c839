// SPDX-License-Identifier: Apache-2.0
#include "os/directory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::os {
namespace {

using Event = DirectoryWatch::Event;
using Kind = DirectoryWatch::Kind;

TEST(DirectoryWatch, SeesNamesAppearAndVanish) {
  const TempDir dir;
  auto watch = DirectoryWatch::open(dir.path());
  ASSERT_TRUE(watch);
  std::ofstream(dir.path("kubelet.sock")) << "";
  std::filesystem::remove(dir.path("kubelet.sock"));
  EXPECT_THAT(watch->drain(), testing::ElementsAre(Event{Kind::kAppeared, "kubelet.sock"},
                                                   Event{Kind::kWritten, "kubelet.sock"},
                                                   Event{Kind::kVanished, "kubelet.sock"}));
  EXPECT_THAT(watch->drain(), testing::IsEmpty());
}

TEST(DirectoryWatch, SeesALinkSwappedAsAConfigMapDoes) {
  const TempDir dir;
  std::filesystem::create_symlink("one", dir.path("..data"));
  auto watch = DirectoryWatch::open(dir.path());
  ASSERT_TRUE(watch);
  std::filesystem::create_symlink("two", dir.path("..data_tmp"));
  std::filesystem::rename(dir.path("..data_tmp"), dir.path("..data"));
  EXPECT_THAT(watch->drain(), testing::Contains(Event{Kind::kAppeared, "..data"}));
}

TEST(DirectoryWatch, SaysWhenTheDirectoryItselfGoes) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("plugins"));
  auto watch = DirectoryWatch::open(dir.path("plugins"));
  ASSERT_TRUE(watch);
  std::filesystem::remove(dir.path("plugins"));
  EXPECT_THAT(watch->drain(), testing::Contains(Event{Kind::kDirectoryGone, ""}));
}

TEST(DirectoryWatch, IsReadableWhenThereIsSomething) {
  const TempDir dir;
  auto watch = DirectoryWatch::open(dir.path());
  ASSERT_TRUE(watch);
  pollfd wanted{watch->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wanted, 1, 0), 0);
  std::ofstream(dir.path("x")) << "";
  EXPECT_EQ(::poll(&wanted, 1, 0), 1);
}

TEST(DirectoryWatch, NamesADirectoryThatIsMissing) {
  const auto watch = DirectoryWatch::open("/nowhere");
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().message, "watching /nowhere: No such file or directory");
}

}  // namespace
}  // namespace tranche::os
