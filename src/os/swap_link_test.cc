// SPDX-License-Identifier: Apache-2.0
#include "os/swap_link.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::os {
namespace {

TEST(SwapLink, SaysWhetherAnythingChanged) {
  const TempDir dir;
  const std::string path = dir.path("link");
  EXPECT_TRUE(*swap_link("/a", path));
  EXPECT_FALSE(*swap_link("/a", path));
  EXPECT_TRUE(*swap_link("/b", path));
  EXPECT_EQ(std::filesystem::read_symlink(path), "/b");
  EXPECT_THAT(*list_directory(dir.path()), testing::ElementsAre("link"));
}

TEST(SwapLink, ReplacesAFileAndWhatAKilledRunLeft) {
  const TempDir dir;
  std::ofstream(dir.path("link")) << "text";
  std::filesystem::create_symlink("/old", dir.path("link.next"));
  EXPECT_TRUE(*swap_link("/a", dir.path("link")));
  EXPECT_EQ(std::filesystem::read_symlink(dir.path("link")), "/a");
  EXPECT_FALSE(swap_link("/a", dir.path("nowhere/link")));
}

TEST(SwapLink, IsNeverMissing) {
  const TempDir dir;
  std::ofstream(dir.path("a")) << "a";
  std::ofstream(dir.path("b")) << "b";
  const std::string path = dir.path("link");
  ASSERT_TRUE(swap_link(dir.path("a"), path));
  std::atomic<bool> missed = false;
  {
    const std::jthread reader([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) missed = missed || !read_file(path);
    });
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(swap_link(dir.path(i % 2 == 0 ? "b" : "a"), path));
  }
  EXPECT_FALSE(missed);
}

}  // namespace
}  // namespace tranche::os
