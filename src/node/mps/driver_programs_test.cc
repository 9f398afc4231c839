// SPDX-License-Identifier: Apache-2.0
#include "node/mps/driver_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class DriverProgramsTest : public testing::Test {
 protected:
  void add(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(root_.path() + path).parent_path());
    std::ofstream(root_.path() + path) << "x";
  }
  void add_programs() {
    add("/usr/bin/nvidia-cuda-mps-control");
    add("/usr/bin/nvidia-cuda-mps-server");
  }

  TempDir root_;
  const MpsDaemonPlan plan_{.name = "GPU-a", .folder = "/run/x/GPU-a", .devices = {"GPU-a"}};
};

TEST_F(DriverProgramsTest, AreMissedByNameAndPlace) {
  const Result<DriverPrograms> found = find_programs({.driver_root = root_.path()});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message,
              HasSubstr("nvidia-cuda-mps-control is not in the driver root " + root_.path()));
}

TEST_F(DriverProgramsTest, RunDirectlyWhereTheRootHasNoLoader) {
  add_programs();
  const Result<DriverPrograms> found = find_programs({.driver_root = root_.path()});
  ASSERT_TRUE(found);
  EXPECT_THAT(control_words(*found), ElementsAre(root_.path("usr/bin/nvidia-cuda-mps-control")));
}

TEST_F(DriverProgramsTest, RunWithTheRootsLoaderAndLibraries) {
  add_programs();
  add("/usr/lib/x86_64-linux-gnu/ld-2.31.so");
  add("/usr/lib/x86_64-linux-gnu/libc.so.6");
  add("/usr/lib64/libcuda.so.1");
  std::filesystem::create_directories(root_.path("lib64"));
  // An absolute link, as on Ubuntu: it means a file of that root, not of ours.
  std::filesystem::create_symlink("/usr/lib/x86_64-linux-gnu/ld-2.31.so",
                                  root_.path("lib64/ld-linux-x86-64.so.2"));
  const Result<DriverPrograms> found = find_programs({.driver_root = root_.path()});
  ASSERT_TRUE(found);
  EXPECT_THAT(control_words(*found),
              ElementsAre(root_.path("usr/lib/x86_64-linux-gnu/ld-2.31.so"), "--library-path",
                          root_.path("usr/lib64") + ":" + root_.path("usr/lib/x86_64-linux-gnu"),
                          root_.path("usr/bin/nvidia-cuda-mps-control")));
  EXPECT_EQ(found->libcuda, root_.path("usr/lib64/libcuda.so.1"));
}

TEST_F(DriverProgramsTest, GetEverythingFromTheirEnvironmentAlone) {
  const DriverPrograms programs{.control = "/r/control",
                                .server = "/r/server",
                                .loader = "/r/ld.so",
                                .library_folders = {"/r/a", "/r/b"}};
  const Command daemon = daemon_command(programs, plan_, {.self = "/self"}, "/run/x/bin");
  EXPECT_THAT(daemon.words, ElementsAre("/r/ld.so", "--library-path", "/r/a:/r/b", "/r/control",
                                        "-f", "--multiuser-server"));
  EXPECT_THAT(daemon.environment,
              ElementsAre("CUDA_MPS_PIPE_DIRECTORY=/run/x/GPU-a/pipe",
                          "CUDA_MPS_LOG_DIRECTORY=/run/x/GPU-a/log", "CUDA_VISIBLE_DEVICES=GPU-a",
                          "PATH=/run/x/bin", "TRANCHE_MPS_SERVER=/r/server",
                          "TRANCHE_MPS_LOADER=/r/ld.so", "TRANCHE_MPS_LIBRARIES=/r/a:/r/b"));
  const Command canary = canary_command(programs, plan_, {.self = "/self"});
  EXPECT_THAT(canary.words, ElementsAre("/self", "mps-canary"));
  EXPECT_THAT(canary.environment, Contains("CUDA_MPS_PIPE_DIRECTORY=/run/x/GPU-a/client"));
}

TEST_F(DriverProgramsTest, ShareMemoryThroughAMountOfTheirOwn) {
  MpsDaemonPlan plan = plan_;
  plan.shared_memory = true;
  const Command daemon = daemon_command({.control = "/r/control"}, plan, {.self = "/self"}, "/bin");
  EXPECT_THAT(daemon.words, ElementsAre("/self", "mps-with-shm", "/run/x/GPU-a/shm", "/r/control",
                                        "-f", "--multiuser-server"));
}

}  // namespace
}  // namespace tranche::node
