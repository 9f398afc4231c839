// SPDX-License-Identifier: Apache-2.0
#include "os/file_identity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::os {
namespace {

TEST(FileIdentity, IsAnotherAfterAWriteAndAfterAReplacement) {
  const TempDir dir;
  const std::string path = dir.path("file");
  EXPECT_EQ(file_identity(path), std::nullopt);
  std::ofstream(path) << "one";
  const auto first = file_identity(path);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(file_identity(path), first);
  std::ofstream(path, std::ios::app) << "more";
  const auto written = file_identity(path);
  ASSERT_TRUE(written.has_value());
  EXPECT_NE(written, first);
  EXPECT_TRUE(written->is_same_file(*first));
  ASSERT_TRUE(write_atomically(path, "two"));
  const auto replaced = file_identity(path);
  ASSERT_TRUE(replaced.has_value());
  EXPECT_FALSE(replaced->is_same_file(*first));
  EXPECT_TRUE(is_same_file(written, first));
  EXPECT_FALSE(is_same_file(std::nullopt, std::nullopt));
}

TEST(FileIdentity, FollowsLinks) {
  const TempDir dir;
  std::ofstream(dir.path("file")) << "one";
  std::filesystem::create_symlink("file", dir.path("link"));
  EXPECT_EQ(file_identity(dir.path("link")), file_identity(dir.path("file")));
}

}  // namespace
}  // namespace tranche::os
