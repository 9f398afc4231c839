// SPDX-License-Identifier: Apache-2.0
#include "node/mps/client_view.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ino_t inode_of(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

TEST(MpsClientView, IsRenewedInOneStepAndHoldsNothingElse) {
  const TempDir dir;
  const MpsDaemonPlan plan{.name = "GPU-a", .folder = dir.path("GPU-a")};
  const mode_t before = ::umask(077);
  ASSERT_TRUE(make_mps_folders(plan));
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat(plan.client_view().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);  // whatever the umask
  EXPECT_THAT(link_client_view(plan).error().message, HasSubstr("pipe/control"));

  std::ofstream{plan.pipe() + "/control_privileged"}.flush();
  for (int round = 0; round < 2; ++round) {
    const std::string kept = dir.path(fmt::format("kept{}", round));
    std::ofstream{plan.pipe() + "/control"}.flush();
    ASSERT_TRUE(link_client_view(plan));
    ASSERT_TRUE(link_client_view(plan));  // a repeated call changes nothing
    EXPECT_EQ(inode_of(plan.client_view() + "/control"), inode_of(plan.pipe() + "/control"));
    EXPECT_THAT(*list_directory(plan.client_view()), ElementsAre("control"));
    ASSERT_EQ(::rename((plan.pipe() + "/control").c_str(), kept.c_str()), 0);
  }
  ASSERT_TRUE(remove_mps_folders(plan));
  EXPECT_FALSE(path_exists(plan.folder));
}

TEST(MpsFolders, KeepAPipeThatContainersHaveMounted) {
  const TempDir dir;
  const MpsDaemonPlan plan{.name = "x", .folder = dir.path("x"), .keep_pipe = true};
  ASSERT_TRUE(make_mps_folders(plan));
  std::ofstream{plan.pipe() + "/control"}.flush();
  const ino_t before = inode_of(plan.pipe());
  ASSERT_TRUE(remove_mps_folders(plan));
  EXPECT_THAT(*list_directory(plan.folder), ElementsAre("pipe"));
  EXPECT_EQ(inode_of(plan.pipe()), before);
  EXPECT_TRUE(list_directory(plan.pipe())->empty());
}

}  // namespace
}  // namespace tranche::node
