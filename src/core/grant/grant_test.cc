// SPDX-License-Identifier: Apache-2.0
#include "core/grant/grant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

Offer eight_gpus() { return offer(a_node(8), {}).offers.at(0); }

Offer slices() {
  return offer(an_inventory({a_gpu(0), a_cut_gpu(1, {k1g10gb, k1g10gb})}),
               {.mig = MigStrategy::kMixed})
      .offers.at(1);
}

Offer replicas(bool one_only = false) {
  return offer(a_node(2),
               {.replications = {{.resource = ResourceName("nvidia.com/gpu"), .replicas = 4}},
                .fail_requests_greater_than_one = one_only})
      .offers.at(0);
}

NodeFacts facts() {
  return {.control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"},
          .cdi = {{"gpu", {"GPU-0", "GPU-1", "0", "1", "MIG-1-0", "1:0"}}}};
}

ContainerGrant granted(const Offer& offer, const GrantOptions& options,
                       const std::vector<std::string_view>& ids, const NodeFacts& node = facts()) {
  Result<ContainerGrant> result = grant(offer, options, node, ids);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : ContainerGrant{};
}

std::string refused(const Offer& offer, const std::vector<std::string_view>& ids,
                    const GrantOptions& options = {}, const NodeFacts& node = facts()) {
  const Result<ContainerGrant> result = grant(offer, options, node, ids);
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

TEST(EnvvarStrategy, NamesTheDevicesInTheirOrderNotTheKubelets) {
  const ContainerGrant result = granted(eight_gpus(), {}, {"GPU-5", "GPU-0", "GPU-3"});
  EXPECT_EQ(result, (ContainerGrant{.env = {{"NVIDIA_VISIBLE_DEVICES", "GPU-0,GPU-3,GPU-5"}}}));
}

TEST(IndexStrategy, NamesTheDevicesByTheirNumbers) {
  const GrantOptions by_index{.ids = DeviceIdStrategy::kIndex};
  EXPECT_EQ(granted(eight_gpus(), by_index, {"GPU-5", "GPU-0"}).env.at("NVIDIA_VISIBLE_DEVICES"),
            "0,5");
  EXPECT_EQ(granted(slices(), by_index, {"MIG-1-1", "MIG-1-0"}).env.at("NVIDIA_VISIBLE_DEVICES"),
            "1:0,1:1");
}

TEST(IndexStrategy, CountsGpusAsTheDriverDoes) {
  const GrantOptions by_index{.ids = DeviceIdStrategy::kIndex};
  Offer offer = slices();
  for (OfferedDevice& device : offer.devices) device.driver_index = 7;
  EXPECT_EQ(granted(offer, by_index, {"MIG-1-1"}).env.at("NVIDIA_VISIBLE_DEVICES"), "7:1");
}

TEST(Replicas, OfOneGpuNameItOnce) {
  EXPECT_EQ(granted(replicas(), {}, {"GPU-1::0", "GPU-0::3", "GPU-1::2"})
                .env.at("NVIDIA_VISIBLE_DEVICES"),
            "GPU-0,GPU-1");
}

TEST(Replicas, CanBeLimitedToOneAContainer) {
  EXPECT_EQ(refused(replicas(true), {"GPU-0::0", "GPU-0::1"}),
            "invalid allocation request for \"nvidia.com/gpu\": maximum request size for shared "
            "resources is 1; found 2");
  EXPECT_THAT(granted(replicas(true), {}, {"GPU-0::1"}).env, testing::SizeIs(1));
}

TEST(VolumeMountsStrategy, MountsDevNullForEachDevice) {
  const ContainerGrant result =
      granted(eight_gpus(), {.list = {.volume_mounts = true}}, {"GPU-1", "GPU-0"});
  EXPECT_THAT(result.env,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices")));
  EXPECT_THAT(result.mounts,
              ElementsAre(GrantedMount{"/var/run/nvidia-container-devices/GPU-0", "/dev/null"},
                          GrantedMount{"/var/run/nvidia-container-devices/GPU-1", "/dev/null"}));
}

TEST(VolumeMountsStrategy, WinsTheVariableOverEnvvar) {
  EXPECT_EQ(granted(eight_gpus(), {.list = {.envvar = true, .volume_mounts = true}}, {"GPU-0"})
                .env.at("NVIDIA_VISIBLE_DEVICES"),
            "/var/run/nvidia-container-devices");
}

TEST(CdiCriStrategy, NamesTheDevicesAndNothingElse) {
  const ContainerGrant result = granted(
      eight_gpus(), {.list = {.cdi_cri = true}, .pass_device_specs = true}, {"GPU-1", "GPU-0"});
  EXPECT_EQ(result, (ContainerGrant{.cdi_devices = {"k8s.device-plugin.nvidia.com/gpu=GPU-0",
                                                    "k8s.device-plugin.nvidia.com/gpu=GPU-1"}}));
}

TEST(CdiAnnotationsStrategy, NamesTheDevicesInOneAnnotation) {
  const GrantOptions options{.list = {.cdi_annotations = true}, .ids = DeviceIdStrategy::kIndex};
  const ContainerGrant result = granted(eight_gpus(), options, {"GPU-1", "GPU-0"});
  ASSERT_THAT(result.annotations, testing::SizeIs(1));
  EXPECT_THAT(result.annotations.begin()->first, StartsWith("cdi.k8s.io/nvidia-device-plugin_"));
  EXPECT_EQ(result.annotations.begin()->second,
            "k8s.device-plugin.nvidia.com/gpu=0,k8s.device-plugin.nvidia.com/gpu=1");
  // What is behind the prefix may have at most 63 characters.
  EXPECT_LE(result.annotations.begin()->first.size(), std::string("cdi.k8s.io/").size() + 63);
  EXPECT_EQ(result, granted(eight_gpus(), options, {"GPU-0", "GPU-1"}));
}

TEST(CdiAnnotationsStrategy, HasAnotherKeyForAnotherGrantOfTheSameContainer) {
  const GrantOptions options{.list = {.cdi_annotations = true}, .cdi_annotation_prefix = "x/"};
  const ContainerGrant one = granted(eight_gpus(), options, {"GPU-0"});
  const ContainerGrant other = granted(slices(), options, {"MIG-1-0"});
  EXPECT_THAT(one.annotations.begin()->first, StartsWith("x/nvidia-device-plugin_"));
  EXPECT_NE(one.annotations.begin()->first, other.annotations.begin()->first);
}

TEST(Strategies, CanBeCombined) {
  const ContainerGrant result =
      granted(eight_gpus(), {.list = {.envvar = true, .cdi_annotations = true, .cdi_cri = true}},
              {"GPU-0"});
  EXPECT_EQ(result.env.at("NVIDIA_VISIBLE_DEVICES"), "GPU-0");
  EXPECT_THAT(result.annotations, testing::SizeIs(1));
  EXPECT_THAT(result.cdi_devices, testing::SizeIs(1));
}

TEST(Cdi, RefusesADeviceThatNoSpecificationResolves) {
  NodeFacts node = facts();
  node.cdi_problem = "writing /var/run/cdi/x.json: No space left on device";
  EXPECT_EQ(refused(eight_gpus(), {"GPU-7"}, {.list = {.cdi_cri = true}}, node),
            "cannot allocate \"nvidia.com/gpu\" through CDI: no CDI specification has device "
            "GPU-7: writing /var/run/cdi/x.json: No space left on device");
}

TEST(Cdi, NamesAnOldMigIdAsItsSpecificationDoes) {
  Offer offer = slices();
  offer.devices[0].uuid = "MIG-GPU-1/7/0";
  EXPECT_THAT(granted(offer, {.list = {.cdi_cri = true}}, {"MIG-GPU-1/7/0"},
                      {.cdi = {{"gpu", {"MIG-GPU-1_7_0"}}}})
                  .cdi_devices,
              ElementsAre("k8s.device-plugin.nvidia.com/gpu=MIG-GPU-1_7_0"));
}

TEST(Cdi, NamesTheOtherClassesThatHaveSomething) {
  NodeFacts node = facts();
  node.cdi["gds"] = {"all"};
  node.cdi["imex-channel"] = {"0"};
  node.imex_channels = {0};
  const ContainerGrant result = granted(
      eight_gpus(), {.list = {.cdi_cri = true}, .gds = true, .mofed = true}, {"GPU-0"}, node);
  EXPECT_THAT(result.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-0",
                                              "k8s.device-plugin.nvidia.com/imex-channel=0",
                                              "k8s.device-plugin.nvidia.com/gds=all"));
  EXPECT_THAT(result.env,
              ElementsAre(Pair("NVIDIA_GDS", "enabled"), Pair("NVIDIA_MOFED", "enabled")));
}

TEST(PassDeviceSpecs, PassesTheControlNodesAndTheGpusOwn) {
  const ContainerGrant result = granted(
      eight_gpus(), {.pass_device_specs = true, .dev_root = "/run/nvidia/driver"}, {"GPU-3"});
  EXPECT_THAT(result.nodes,
              ElementsAre(GrantedNode{"/dev/nvidiactl", "/run/nvidia/driver/dev/nvidiactl", "rw"},
                          GrantedNode{"/dev/nvidia-uvm", "/run/nvidia/driver/dev/nvidia-uvm", "rw"},
                          GrantedNode{"/dev/nvidia3", "/run/nvidia/driver/dev/nvidia3", "rw"}));
}

TEST(PassDeviceSpecs, PassesTheCapabilitiesOfMigDevicesAndTheirGpuOnce) {
  const ContainerGrant result =
      granted(slices(), {.pass_device_specs = true}, {"MIG-1-0", "MIG-1-1"}, {});
  std::vector<std::string> paths;
  for (const GrantedNode& node : result.nodes) paths.push_back(node.host_path);
  EXPECT_THAT(paths, ElementsAre("/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap147",
                                 "/dev/nvidia-caps/nvidia-cap148", "/dev/nvidia-caps/nvidia-cap156",
                                 "/dev/nvidia-caps/nvidia-cap157"));
}

TEST(PassDeviceSpecs, NamesNoNodeTwiceForReplicas) {
  const ContainerGrant result =
      granted(replicas(), {.pass_device_specs = true}, {"GPU-0::0", "GPU-0::1"}, {});
  EXPECT_THAT(result.nodes, testing::SizeIs(1));
}

TEST(Imex, AddsItsChannelsInTheStrategysWay) {
  NodeFacts node = facts();
  node.imex_channels = {0};
  EXPECT_EQ(granted(eight_gpus(), {}, {"GPU-0"}, node).env.at("NVIDIA_IMEX_CHANNELS"), "0");
  EXPECT_THAT(granted(eight_gpus(), {.list = {.volume_mounts = true}}, {"GPU-0"}, node).mounts,
              testing::Contains(
                  GrantedMount{"/var/run/nvidia-container-devices/imex/0", "/dev/null", false}));
  EXPECT_THAT(granted(eight_gpus(), {.pass_device_specs = true}, {"GPU-0"}, node).nodes,
              testing::Contains(GrantedNode{"/dev/nvidia-caps-imex-channels/channel0",
                                            "/dev/nvidia-caps-imex-channels/channel0", "rw"}));
}

TEST(DriverMount, IsReadOnlyAndOffUnlessGiven) {
  EXPECT_THAT(granted(eight_gpus(), {}, {"GPU-0"}).mounts, IsEmpty());
  const GrantOptions options{.driver_mount =
                                 DriverMount{"/var/lib/nvidia/lib64", "/usr/local/nvidia/lib64"}};
  EXPECT_THAT(granted(eight_gpus(), options, {"GPU-0"}).mounts,
              ElementsAre(GrantedMount{"/usr/local/nvidia/lib64", "/var/lib/nvidia/lib64", true}));
}

TEST(BadIds, AreRefusedByName) {
  EXPECT_EQ(refused(eight_gpus(), {"GPU-0", "GPU-9"}),
            "invalid allocation request for \"nvidia.com/gpu\": unknown device: GPU-9");
  EXPECT_THAT(refused(eight_gpus(), {"MIG-1-0"}), HasSubstr("unknown device: MIG-1-0"));
  EXPECT_THAT(refused(eight_gpus(), {"GPU-0::0"}), HasSubstr("unknown device: GPU-0::0"));
  EXPECT_THAT(refused(replicas(), {"GPU-0::4"}), HasSubstr("unknown device: GPU-0::4"));
  EXPECT_THAT(refused(eight_gpus(), {"GPU-1", "GPU-1"}), HasSubstr("device given twice: GPU-1"));
  EXPECT_THAT(refused(eight_gpus(), {}), HasSubstr("no device ids were given"));
  EXPECT_THAT(refused(eight_gpus(), {""}), HasSubstr("unknown device: "));
}

TEST(BadIds, AreToldInPartWhereTheyAreVeryLong) {
  EXPECT_LT(refused(eight_gpus(), {std::string(100000, 'x')}).size(), 300U);
}

TEST(UnhealthyDevice, IsRefusedWithItsReason) {
  Inventory node = a_node(1);
  node.gpus[0].health.troubles = {"XID 79: GPU has fallen off the bus"};
  EXPECT_EQ(refused(offer(node, {}).offers.at(0), {"GPU-0"}),
            "invalid allocation request for \"nvidia.com/gpu\": unhealthy device: GPU-0: XID 79: "
            "GPU has fallen off the bus");
}

}  // namespace
}  // namespace tranche::core
