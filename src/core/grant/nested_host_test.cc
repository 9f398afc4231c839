// SPDX-License-Identifier: Apache-2.0
//
// The grant of a container that is itself a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/grant/testing/shares.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

OfferedDevice a_gpu(unsigned index) {
  OfferedDevice gpu = a_shared_gpu(index, 1, 80 * kGiB);
  gpu.replicas.reset();
  return gpu;
}

OfferedDevice a_slice(unsigned gpu, unsigned index) {
  OfferedDevice slice = a_gpu(gpu);
  slice.uuid = "MIG-" + std::to_string(gpu) + "-" + std::to_string(index);
  slice.mig_index = index;
  slice.caps = {10 * gpu + index};
  return slice;
}

// Four GPUs, the last one cut into two; the others are offered.
NodeFacts facts() {
  return {.control_nodes = {"/dev/nvidiactl"},
          .cdi = {{"gpu", {"GPU-0", "GPU-1", "GPU-2", "MIG-3-0", "MIG-3-1"}}},
          .devices = {a_gpu(0), a_gpu(1), a_gpu(2), a_slice(3, 0), a_slice(3, 1)}};
}

Offer offered(Exposure exposure = Exposure::kEnvvar) {
  return an_offer("nvidia.com/gpu", {a_gpu(0), a_gpu(1), a_gpu(2)},
                  {.dialect = Dialect::kNestedHost, .exposure = exposure});
}

std::vector<std::string> nodes(const ContainerGrant& grant) {
  std::vector<std::string> paths;
  for (const GrantedNode& node : grant.nodes) paths.push_back(node.container_path);
  return paths;
}

TEST(NestedHostsDialect, ShowsAllGpusOfTheNodeAndTellsWhichAreGranted) {
  const ContainerGrant grant = must_grant(offered(), {"GPU-2", "GPU-0"}, facts());
  EXPECT_EQ(grant.env.at("NVIDIA_VISIBLE_DEVICES"), "GPU-0,GPU-1,GPU-2,MIG-3-0,MIG-3-1");
  EXPECT_EQ(grant.env.at("NVIDIA_ALLOCATED_DEVICES"), "GPU-0,GPU-2");
}

TEST(NestedHostsDialect, NamesBothByIndexWhereGpusGoByIndex) {
  const ContainerGrant grant =
      must_grant(offered(), {"GPU-1"}, facts(), {.ids = DeviceIdStrategy::kIndex});
  EXPECT_EQ(grant.env.at("NVIDIA_VISIBLE_DEVICES"), "0,1,2,3:0,3:1");
  EXPECT_EQ(grant.env.at("NVIDIA_ALLOCATED_DEVICES"), "1");
}

TEST(NestedHostsDialect, PassesNodesOfTheGrantedGpusOnly) {
  const ContainerGrant grant =
      must_grant(offered(), {"GPU-1"}, facts(), {.pass_device_specs = true});
  EXPECT_THAT(nodes(grant), ElementsAre("/dev/nvidiactl", "/dev/nvidia1"));
}

TEST(NestedHostsDialect, MountsTheGrantedGpusOnlyAsTheSeedDid) {
  const ContainerGrant grant =
      must_grant(offered(), {"GPU-1"}, facts(), {.list = {.volume_mounts = true}});
  EXPECT_EQ(grant.env.at("NVIDIA_VISIBLE_DEVICES"), "/var/run/nvidia-container-devices");
  ASSERT_THAT(grant.mounts, SizeIs(1));
  EXPECT_EQ(grant.mounts[0].container_path, "/var/run/nvidia-container-devices/GPU-1");
  EXPECT_EQ(grant.env.at("NVIDIA_ALLOCATED_DEVICES"), "GPU-1");
}

TEST(NestedHostsDialect, NamesTheGrantedGpusOnlyByCdi) {
  const ContainerGrant grant =
      must_grant(offered(), {"GPU-1"}, facts(), {.list = {.cdi_cri = true}});
  EXPECT_THAT(grant.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-1"));
  EXPECT_FALSE(grant.env.contains("NVIDIA_VISIBLE_DEVICES"));
}

TEST(ExposureAll, IsOfNodesMountsAndCdiNamesToo) {
  const Offer offer = offered(Exposure::kAll);
  EXPECT_THAT(
      nodes(must_grant(offer, {"GPU-1"}, facts(), {.pass_device_specs = true})),
      ElementsAre("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3",
                  "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31"));
  EXPECT_THAT(must_grant(offer, {"GPU-1"}, facts(), {.list = {.volume_mounts = true}}).mounts,
              SizeIs(5));
  const ContainerGrant by_cdi = must_grant(offer, {"GPU-1"}, facts(), {.list = {.cdi_cri = true}});
  EXPECT_THAT(by_cdi.cdi_devices, SizeIs(5));
  EXPECT_EQ(by_cdi.env.at("NVIDIA_ALLOCATED_DEVICES"), "GPU-1");
}

// A device without specification must not keep a pod from starting that was not granted it.
TEST(ExposureAll, LeavesOutWhatCdiCannotResolve) {
  NodeFacts node = facts();
  node.cdi["gpu"].erase("GPU-0");
  const Offer offer = offered(Exposure::kAll);
  const GrantOptions by_cdi{.list = {.cdi_cri = true}};
  EXPECT_THAT(must_grant(offer, {"GPU-1"}, node, by_cdi).cdi_devices, SizeIs(4));
  EXPECT_EQ(must_refuse(offer, {"GPU-0"}, node, by_cdi).code, ErrorCode::kUnavailable);
}

TEST(ExposureAll, KeepsBackWhatTheConfigurationExcludes) {
  NodeFacts node = facts();
  node.excluded = {"GPU-2", "GPU-3"};
  const ContainerGrant grant =
      must_grant(offered(Exposure::kAll), {"GPU-1"}, node, {.pass_device_specs = true});
  EXPECT_THAT(nodes(grant), ElementsAre("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1"));
  EXPECT_EQ(grant.env.at("NVIDIA_VISIBLE_DEVICES"), "GPU-0,GPU-1");
}

TEST(ExposureByVariable, KeepsBackWhatTheConfigurationExcludes) {
  NodeFacts node = facts();
  node.excluded = {"GPU-0", "GPU-3"};
  const ContainerGrant grant = must_grant(offered(Exposure::kEnvvar), {"GPU-1"}, node);
  EXPECT_EQ(grant.env.at("NVIDIA_VISIBLE_DEVICES"), "GPU-1,GPU-2");
}

// --mig-strategy=none offers a GPU that is cut as a whole.
TEST(NestedHostsDialect, NamesAGrantedGpuAndNotItsSlices) {
  const Offer whole = an_offer("nvidia.com/gpu", {a_gpu(3)}, {.dialect = Dialect::kNestedHost});
  const ContainerGrant grant = must_grant(whole, {"GPU-3"}, facts());
  EXPECT_EQ(grant.env.at("NVIDIA_VISIBLE_DEVICES"), "GPU-0,GPU-1,GPU-2,GPU-3");
  EXPECT_EQ(grant.env.at("NVIDIA_ALLOCATED_DEVICES"), "GPU-3");
}

TEST(ExposureGranted, ShowsNothingOfOtherGpus) {
  const ContainerGrant grant =
      must_grant(offered(Exposure::kGranted), {"GPU-1"}, facts(),
                 {.list = {.envvar = true, .cdi_cri = true}, .pass_device_specs = true});
  EXPECT_EQ(grant.env.at("NVIDIA_VISIBLE_DEVICES"), "GPU-1");
  EXPECT_EQ(grant.env.at("NVIDIA_ALLOCATED_DEVICES"), "GPU-1");
  EXPECT_THAT(nodes(grant), ElementsAre("/dev/nvidiactl", "/dev/nvidia1"));
  EXPECT_THAT(grant.cdi_devices, SizeIs(1));
}

TEST(NestedGrantOfAContainer, SaysWhichDevicesAndHowMuchOfThem) {
  const ContainerGrant whole = must_grant(offered(), {"GPU-1"}, facts());
  ASSERT_TRUE(whole.nested);
  EXPECT_EQ(*whole.nested, (NestedGrant{.resource = "nvidia.com/gpu",
                                        .devices = {{.uuid = "GPU-1",
                                                     .gpu = "GPU-1",
                                                     .index = "1",
                                                     .minor = 1,
                                                     .model = "NVIDIA H200",
                                                     .memory_bytes = 80 * kGiB,
                                                     .granted_bytes = 80 * kGiB}}}));
  Offer units = gib_units();
  units.terms.dialect = Dialect::kNestedHost;
  const ContainerGrant part = must_grant(units, shares_of(1, 20), facts());
  ASSERT_TRUE(part.nested);
  const NestedDevice& device = part.nested->devices.at(0);
  EXPECT_EQ(device.form, ShareForm::kMemory);
  EXPECT_EQ(device.shares, 20U);
  EXPECT_EQ(device.shares_in_all, 80U);
  EXPECT_EQ(device.granted_bytes, 20 * kGiB);
}

TEST(NestedGrantOfAContainer, KnowsASlicesRealGpu) {
  const Offer slices =
      an_offer("nvidia.com/mig-3g.40gb", {a_slice(3, 0)}, {.dialect = Dialect::kNestedHost});
  const auto grant = must_grant(slices, {"MIG-3-0"}, facts());
  EXPECT_EQ(grant.env.at("NVIDIA_ALLOCATED_DEVICES"), "MIG-3-0");
  EXPECT_EQ(grant.nested->devices.at(0).gpu, "GPU-3");
  EXPECT_TRUE(grant.nested->devices.at(0).is_mig());
}

TEST(NestedGrantOfAContainer, NamesTheDriver) {
  NodeFacts node = facts();
  node.driver_version = "580.105.08";
  EXPECT_EQ(must_grant(offered(), {"GPU-1"}, node).nested->driver_version, "580.105.08");
}

TEST(NestedGrantOfAContainer, IsForNoOtherDialect) {
  EXPECT_FALSE(must_grant(gib_units(), shares_of(1, 3)).nested);
}

}  // namespace
}  // namespace tranche::core
