// SPDX-License-Identifier: Apache-2.0
//
// Nested clusters through the real binary, one half at a time.
#include <fstream>

#include "base/text.h"
#include "formats/nested_grant_json.h"
#include "integration/node_story.h"
#include "os/files.h"

namespace tranche::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NestedStory : public NodeStory {
 protected:
  std::string uuid(std::size_t gpu) const { return node_->world()->gpus.at(gpu).uuid.text; }

  // What is mounted at a path of the container, on the host.
  static std::string mounted_at(const standin::ContainerResponse& response,
                                const std::string& path) {
    for (const standin::Mount& mount : response.mounts) {
      if (mount.container_path == path) return mount.host_path;
    }
    return {};
  }

  static NestedGrant document(const std::string& path) {
    const auto text = read_file(path);
    const auto grant = text ? parse_nested_grant(*text) : Result<NestedGrant>(text.error());
    EXPECT_TRUE(grant) << (grant ? "" : grant.error().message);
    return grant ? *grant : NestedGrant{};
  }
};

TEST_F(NestedStory, AHostWritesDownWhatItGrantsAndKeepsItCurrent) {
  begin("t4-quad", {"--profile=nested-host", "--health-check-interval=100ms"});
  expect_allocatable(kGpu, 4);
  const auto response = granted("node", {{kGpu, 2}});
  EXPECT_EQ(split(response.envs.at("NVIDIA_VISIBLE_DEVICES"), ',').size(), 4U);
  const std::string allocated = response.envs.at("NVIDIA_ALLOCATED_DEVICES");
  const std::string env = mounted_at(response, "/gpu.env");
  EXPECT_EQ(*read_file(env), allocated + "\n");
  const std::string lost = split(allocated, ',').at(0);
  happens(sim::fall_off(GpuUuid(lost)));
  expect_log("updated GPU health for a node pod");
  const auto handed = document(mounted_at(response, "/gpu-grants/nvidia.com_gpu") + "/grant.json");
  ASSERT_EQ(handed.devices.size(), 2U);
  EXPECT_EQ(handed.devices[0].uuid, lost);
  EXPECT_FALSE(handed.devices[0].health.ok());
  EXPECT_TRUE(handed.devices[1].health.ok());
  EXPECT_EQ(*read_file(env), split(allocated, ',').at(1) + "\n");
  EXPECT_THAT(command({"devices"}).output, HasSubstr("HANDED OFF"));
}

TEST_F(NestedStory, ANodePodMayWriteNothingThatItIsHandedOff) {
  begin("t4-single", {"--profile=nested-host"});
  expect_allocatable(kGpu, 1);
  const auto response = granted("node", {{kGpu, 1}});
  ASSERT_EQ(response.mounts.size(), 2U);
  for (const standin::Mount& mount : response.mounts) {
    EXPECT_TRUE(mount.read_only) << mount.container_path;
  }
}

TEST_F(NestedStory, ANodePodThatWritesItsOwnGpuEnvGetsNone) {
  begin("t4-single", {"--profile=nested-host", "--nested-gpu-env=pod"});
  expect_allocatable(kGpu, 1);
  const auto response = granted("node", {{kGpu, 1}});
  EXPECT_EQ(mounted_at(response, "/gpu.env"), "");
  EXPECT_EQ(response.envs.at("NVIDIA_ALLOCATED_DEVICES"), uuid(0));
  const auto handed = document(mounted_at(response, "/gpu-grants/nvidia.com_gpu") + "/grant.json");
  EXPECT_EQ(handed.devices.at(0).uuid, uuid(0));
}

TEST_F(NestedStory, AHostRefusesWhatItCannotWriteDown) {
  write("file", "no folder");
  begin("t4-single", {"--profile=nested-host", "--nested-dir=" + path("file")});
  expect_allocatable(kGpu, 1);
  const auto refused = admit("node", {{kGpu, 1}});
  EXPECT_FALSE(refused.admitted);
  EXPECT_THAT(refused.message, HasSubstr("handing GPUs off to a node pod"));
  ASSERT_EQ(::unlink(path("file").c_str()), 0);
  remove("node");
  granted("again", {{kGpu, 1}});
}

TEST_F(NestedStory, AGuestOffersWhatItWasGrantedAndFollowsIt) {
  make_node("t4-quad");
  start_kubelet();
  const std::string env = path("gpu.env");
  start_agent({"--profile=nested-guest", "--gpu-env=" + env, "--host-grants=" + path("grants")});
  expect_log("nothing is offered until it is known what the host granted");
  std::ofstream(env) << uuid(1) << "," << uuid(3);
  expect_allocatable(kGpu, 2);
  EXPECT_THAT(split(granted("pod", {{kGpu, 2}}).envs.at("NVIDIA_VISIBLE_DEVICES"), ','),
              ElementsAre(uuid(1), uuid(3)));
  remove("pod");
  std::ofstream(env) << uuid(3);
  expect_capacity(kGpu, 1);
  EXPECT_THAT(command({"devices"}).output, HasSubstr("Granted by the host"));
}

}  // namespace
}  // namespace tranche::tests
