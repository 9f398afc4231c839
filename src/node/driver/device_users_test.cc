// SPDX-License-Identifier: Apache-2.0
#include "node/driver/device_users.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Proc : public testing::Test {
 protected:
  void runs(int pid, const std::string& program, const std::vector<std::string>& files) {
    const std::string folder = dir_.path(fmt::format("proc/{}", pid));
    std::filesystem::create_directories(folder + "/fd");
    std::ofstream(folder + "/comm") << program << "\n";
    for (std::size_t i = 0; i < files.size(); ++i) {
      std::filesystem::create_symlink(files[i], fmt::format("{}/fd/{}", folder, i));
    }
  }
  DeviceUsers users() { return device_users(dir_.path(), {"/dev/nvidia2"}); }

  TempDir dir_;
};

TEST_F(Proc, NamesProcessesThatHaveTheNodeOpen) {
  runs(2, "kthreadd", {});
  runs(4242, "python3", {"/dev/null", "/dev/nvidia2", "/dev/nvidia2"});
  runs(71, "other", {"/dev/nvidia20", "/dev/nvidiactl"});
  EXPECT_THAT(users().found, ElementsAre(DeviceUser{4242, "python3", "/dev/nvidia2"}));
  EXPECT_TRUE(users().is_complete);
}

TEST_F(Proc, SaysThatAContainerSeesItsOwnProcessesOnly) {
  runs(1, "tranche-device-", {"/dev/null"});
  EXPECT_THAT(users().found, IsEmpty());
  EXPECT_FALSE(users().is_complete);
}

TEST_F(Proc, SaysThatAProcessCannotBeRead) {
  runs(2, "kthreadd", {});
  std::filesystem::create_directories(dir_.path("proc/77"));
  std::ofstream(dir_.path("proc/77/fd")) << "no folder";
  EXPECT_FALSE(users().is_complete);
}

TEST_F(Proc, SaysNothingWhereThereIsNone) { EXPECT_EQ(users(), DeviceUsers{}); }

}  // namespace
}  // namespace tranche::node
