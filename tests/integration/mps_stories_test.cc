// SPDX-License-Identifier: Apache-2.0
//
// MPS daemons that somebody else runs, or does not, through the real binary.
#include <filesystem>
#include <fstream>

#include "integration/node_story.h"
#include "os/testing/unix_socket.h"

namespace tranche::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kMemory = "aliyun.com/gpu-mem";

class MpsStory : public NodeStory {
 protected:
  // As a daemon's control socket, which nobody of us talks to.
  UniqueFd start_daemon(const std::string& pipe) {
    std::filesystem::create_directories(pipe);
    return listening_on(pipe + "/control");
  }
  std::string devices() { return command({"devices"}).output; }
};

TEST_F(MpsStory, APipeFolderWithoutADaemonPromisesNothingUntilOneComes) {
  begin("t4-single", {"--profile=gpushare", "--mps-pipe=" + path("pipe")});
  expect_capacity(kMemory, 15);
  const std::string why =
      std::string(kMemory) + " has no usable share: MPS: there is no " + path("pipe");
  expect_log("warning.*" + why);
  expect_allocatable(kMemory, 0);
  EXPECT_THAT(devices(), HasSubstr(why));
  const UniqueFd daemon = start_daemon(path("pipe"));
  expect_allocatable(kMemory, 15);
  const auto response = granted("pod", {{kMemory, 5}});
  EXPECT_EQ(response.envs.at("TRANCHE_MEMORY_ENFORCEMENT"), "mps");
  EXPECT_THAT(response.mounts, Contains(standin::Mount{path("pipe"), path("pipe"), true}));
}

TEST_F(MpsStory, APipeFolderThatIsALinkIsGivenToNobody) {
  const UniqueFd daemon = start_daemon(path("real"));
  std::filesystem::create_directory_symlink(path("real"), path("pipe"));
  begin("t4-single", {"--profile=gpushare", "--mps-pipe=" + path("pipe")});
  expect_log("warning.*is not given to containers: .*pipe is a link");
  expect_allocatable(kMemory, 0);
}

TEST_F(MpsStory, WithoutNvidiasDaemonThereIsAReason) {
  write("config.yaml",
        "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}\n");
  begin("t4-single", {"--config-file=" + path("config.yaml"), "--mps-root=" + path("mps")});
  expect_capacity(kGpu, 3);
  expect_log(
      "warning.*nvidia.com/gpu has no usable share: MPS: NVIDIA's MPS control daemon is not ready");
  expect_allocatable(kGpu, 0);
  EXPECT_THAT(devices(), HasSubstr("NVIDIA's MPS control daemon is not ready"));
  const UniqueFd daemon = start_daemon(path("mps/nvidia.com/gpu/pipe"));
  std::ofstream{path("mps/.ready")}.flush();
  expect_allocatable(kGpu, 3);
}

TEST_F(MpsStory, MemoryThatNothingHoldsIsWarnedOf) {
  begin("t4-single", {"--profile=gpushare"});
  expect_allocatable(kMemory, 15);
  expect_log("warning.*" + std::string(kMemory) +
             ": nothing limits containers to their share of memory");
  EXPECT_THAT(devices(), HasSubstr("nothing limits containers to their share of memory"));
}

}  // namespace
}  // namespace tranche::tests
