// SPDX-License-Identifier: Apache-2.0
//
// Nested clusters through the real binary, one half at a time.
#include <fstream>

#include "base/files.h"
#include "base/text.h"
#include "integration/node_story.h"
#include "nested/nested_grant.h"

namespace tranche {
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

  // Waits until the document says so.
  void expect_healthy(const std::string& file, std::size_t device, bool healthy) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      const auto text = read_file(file);
      const auto grant = text ? parse_nested_grant(*text) : Result<NestedGrant>(text.error());
      ASSERT_TRUE(grant) << grant.error().message;
      if (grant->devices.at(device).health.ok() == healthy) return;
    }
    FAIL() << file << " never said that device " << device << " is " << (healthy ? "" : "un")
           << "healthy";
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
  const std::string document = mounted_at(response, "/gpu-grants/nvidia.com_gpu") + "/grant.json";
  const std::string lost = split(allocated, ',').at(0);
  happens(sim::fall_off(lost == uuid(0) ? 0 : lost == uuid(1) ? 1 : lost == uuid(2) ? 2 : 3));
  expect_healthy(document, 0, false);
  expect_log("node pod told of its GPUs' health");
  EXPECT_EQ(*read_file(env), split(allocated, ',').at(1) + "\n");
  EXPECT_THAT(command({"devices"}).output, HasSubstr("HANDED OFF"));
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
}  // namespace tranche
