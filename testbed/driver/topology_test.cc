// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "testbed/driver/more_abi.h"
#include "testbed/driver/testing/nvml_client.h"

namespace tranche::testbed::sim {
namespace {

class Topology : public SimulatedDriver {
 protected:
  int level(unsigned a, unsigned b) const {
    int level = -1;
    EXPECT_EQ(nvml()("nvmlDeviceGetTopologyCommonAncestor", nvml().gpu(a), nvml().gpu(b), &level),
              abi::kSuccess);
    return level;
  }
  int p2p(unsigned a, unsigned b, int what) const {
    int status = -1;
    EXPECT_EQ(nvml()("nvmlDeviceGetP2PStatus", nvml().gpu(a), nvml().gpu(b), what, &status),
              abi::kSuccess);
    return status;
  }
  // How many links of `a` end at `b`, counted as NVIDIA's allocator does.
  unsigned links(unsigned a, unsigned b) const {
    abi::PciInfo wanted{};
    EXPECT_EQ(nvml()("nvmlDeviceGetPciInfo_v3", nvml().gpu(b), &wanted), abi::kSuccess);
    unsigned found = 0;
    for (unsigned link = 0; link < 36; ++link) {
      unsigned active = 0;
      abi::PciInfo remote{};
      if (nvml()("nvmlDeviceGetNvLinkState", nvml().gpu(a), link, &active) != abi::kSuccess) break;
      if (active == 0) continue;
      if (nvml()("nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml().gpu(a), link, &remote) ==
              abi::kSuccess &&
          std::string(remote.bus_id) == wanted.bus_id) {
        ++found;
      }
    }
    return found;
  }
};

TEST_F(Topology, OfSwitchesIsATree) {
  start("l4-pcie");
  EXPECT_EQ(level(0, 1), abi::kTopologySingle);
  EXPECT_EQ(level(0, 2), abi::kTopologyMultiple);
  EXPECT_EQ(level(0, 7), abi::kTopologySystem);
  EXPECT_EQ(level(7, 0), abi::kTopologySystem);
  int none = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetNvLinkState", nvml().gpu(0), 0U, &none), abi::kNotSupported);
  std::array<abi::Device, 8> near{};
  unsigned count = 8;
  ASSERT_EQ(nvml()("nvmlDeviceGetTopologyNearestGpus", nvml().gpu(0), abi::kTopologyMultiple,
                   &count, near.data()),
            abi::kSuccess);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(near[0], nvml().gpu(2));
}

TEST_F(Topology, OfTheCubeMeshCountsLinks) {
  start("dgx1-v100");
  EXPECT_EQ(links(0, 3), 2U);
  EXPECT_EQ(links(0, 1), 1U);
  EXPECT_EQ(links(0, 5), 0U);
  EXPECT_EQ(links(4, 7), 2U);
  EXPECT_EQ(level(0, 1), abi::kTopologySingle);
  EXPECT_EQ(level(0, 2), abi::kTopologyHostBridge);
  EXPECT_EQ(p2p(0, 3, 2), 0);
  EXPECT_EQ(p2p(0, 5, 2), 5);
  int type = -1;
  ASSERT_EQ(nvml()("nvmlDeviceGetNvLinkRemoteDeviceType", nvml().gpu(0), 0U, &type), abi::kSuccess);
  EXPECT_EQ(type, abi::kRemoteGpu);
}

TEST_F(Topology, OfNvSwitchesLinksToNoGpu) {
  start("dgx-a100");
  EXPECT_EQ(links(0, 1), 0U);
  EXPECT_EQ(nvml().field(nvml().gpu(0), abi::kFieldNvSwitchLinkCount).value.ui, 12U);
  int type = -1;
  ASSERT_EQ(nvml()("nvmlDeviceGetNvLinkRemoteDeviceType", nvml().gpu(0), 11U, &type),
            abi::kSuccess);
  EXPECT_EQ(type, abi::kRemoteSwitch);
  unsigned value = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetNvLinkState", nvml().gpu(0), 12U, &value), abi::kInvalidArgument);
  ASSERT_EQ(nvml()("nvmlDeviceGetNvLinkVersion", nvml().gpu(0), 0U, &value), abi::kSuccess);
  EXPECT_EQ(value, 4U);
  ASSERT_EQ(nvml()("nvmlDeviceGetNvLinkCapability", nvml().gpu(0), 0U, 0, &value), abi::kSuccess);
  EXPECT_EQ(value, 1U);
  EXPECT_EQ(p2p(0, 7, 2), 0);
  EXPECT_EQ(level(0, 1), abi::kTopologyMultiple);
  EXPECT_EQ(nvml().field(nvml().gpu(0), 164).value.ui, 25781U);
  apply(set_link(0, 11, false));
  EXPECT_EQ(nvml().field(nvml().gpu(0), abi::kFieldNvSwitchLinkCount).value.ui, 11U);
  EXPECT_EQ(nvml().field(nvml().gpu(0), 165, 11).value.ui, 0U);
}

TEST_F(Topology, HidesTheSwitchesOfNewBoards) {
  start("hgx-b200");
  abi::PciInfo info{};
  EXPECT_EQ(nvml()("nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml().gpu(0), 0U, &info),
            abi::kNotSupported);
  EXPECT_EQ(nvml().field(nvml().gpu(0), abi::kFieldNvSwitchLinkCount).value.ui, 18U);
}

TEST_F(Topology, NamesTheCpusAndMemoryNextToAGpu) {
  start("dgx-a100");
  std::array<unsigned long, 4> bits{};
  ASSERT_EQ(nvml()("nvmlDeviceGetCpuAffinity", nvml().gpu(0), 4U, bits.data()), abi::kSuccess);
  EXPECT_EQ(bits[0], 0xFFFF000000000000UL);
  EXPECT_EQ(bits[2], 0xFFFF000000000000UL);
  ASSERT_EQ(nvml()("nvmlDeviceGetMemoryAffinity", nvml().gpu(0), 4U, bits.data(), 0U),
            abi::kSuccess);
  EXPECT_EQ(bits[0], 8UL);
  unsigned node = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetNumaNodeId", nvml().gpu(0), &node), abi::kNotSupported);
}

TEST_F(Topology, HasAFabricOverNodes) {
  start("gb200-tray");
  abi::FabricInfoV2 info{.version = abi::kFabricInfoV2};
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuFabricInfoV", nvml().gpu(0), &info), abi::kSuccess);
  EXPECT_EQ(info.state, abi::kFabricCompleted);
  EXPECT_EQ(info.clique_id, 2U);
  EXPECT_EQ(info.cluster_uuid[0], 0x7d);
  EXPECT_EQ(info.cluster_uuid[15], 0x0d);
  layout::FabricInfoV3 third{.version = layout::kFabricInfoV3};
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuFabricInfoV", nvml().gpu(0), &third), abi::kSuccess);
  EXPECT_EQ(third.health_summary, 1U);
  third.version = 1;
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuFabricInfoV", nvml().gpu(0), &third),
            abi::kArgumentVersionMismatch);
  abi::FabricInfo first{};
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuFabricInfo", nvml().gpu(0), &first), abi::kSuccess);
  EXPECT_EQ(first.clique_id, 2U);
  unsigned node = 0;
  ASSERT_EQ(nvml()("nvmlDeviceGetNumaNodeId", nvml().gpu(3), &node), abi::kSuccess);
  EXPECT_EQ(node, 26U);
  layout::AddressingMode mode{.version = layout::kAddressingMode};
  ASSERT_EQ(nvml()("nvmlDeviceGetAddressingMode", nvml().gpu(0), &mode), abi::kSuccess);
  EXPECT_EQ(mode.value, 2U);
}

TEST_F(Topology, HasAFabricThatMayNotBeReady) {
  start("dgx-h100");
  apply(set_fabric(1, {.state = Fabric::State::kInProgress}));
  abi::FabricInfo info{};
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuFabricInfo", nvml().gpu(1), &info), abi::kSuccess);
  EXPECT_EQ(info.state, abi::kFabricInProgress);
}

TEST_F(Topology, HasNoFabricBeforeHopper) {
  start("dgx-a100");
  abi::FabricInfo info{};
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuFabricInfo", nvml().gpu(0), &info), abi::kNotSupported);
}

}  // namespace
}  // namespace tranche::testbed::sim
