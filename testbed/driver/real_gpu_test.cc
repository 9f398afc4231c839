// SPDX-License-Identifier: Apache-2.0
//
// Answers that were read off a real H200 (driver 580.159.04, one GPU passed into
// a virtual machine, MIG off), held against the simulated one.
#include "testbed/driver/more_abi.h"
#include "testbed/driver/testing/nvml_client.h"
#include "testbed/world/parse.h"

namespace tranche::testbed::sim {
namespace {

class RealGpu : public SimulatedDriver {
 protected:
  RealGpu() {
    const Result<World> world = parse_world(
        "driver: {version: 580.159.04, cuda: 13.0}\n"
        "gpus: [{model: h200-sxm, pci: '0000:00:06.0', numa: 0, cpus: 0-15,"
        "        virtualization: 1, fabric: {state: not_supported}}]\n",
        "real");
    EXPECT_TRUE(world) << world.error().message;
    start(*world);
    gpu_ = nvml().gpu(0);
  }
  abi::Device gpu_ = nullptr;
};

TEST_F(RealGpu, SupportsTheseEvents) {
  unsigned long long types = 0;
  ASSERT_EQ(nvml()("nvmlDeviceGetSupportedEventTypes", gpu_, &types), abi::kSuccess);
  EXPECT_EQ(types, 0xFF9FU);
  abi::EventSet set = nullptr;
  ASSERT_EQ(nvml()("nvmlEventSetCreate", &set), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlDeviceRegisterEvents", gpu_, 8ULL, set), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlDeviceRegisterEvents", gpu_, 1ULL << 40, set), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceRegisterEvents", gpu_, 0ULL, set), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlDeviceRegisterEvents", gpu_, 8ULL, abi::EventSet{nullptr}),
            abi::kInvalidArgument);
}

TEST_F(RealGpu, TellsItsMigProfilesWithMigOff) {
  struct Row {
    unsigned argument, id, slices, instances, multiprocessors, copy, decode, jpeg, ofa;
    unsigned long long memory_mib;
    const char* name;
  };
  for (const Row& row : {Row{0, 19, 1, 7, 16, 1, 1, 1, 0, 16384, "MIG 1g.18gb"},
                         {1, 14, 2, 3, 32, 2, 2, 2, 0, 33280, "MIG 2g.35gb"},
                         {2, 9, 3, 2, 60, 3, 3, 3, 0, 71424, "MIG 3g.71gb"},
                         {3, 5, 4, 1, 64, 4, 4, 4, 0, 71424, "MIG 4g.71gb"},
                         {4, 0, 7, 1, 132, 8, 7, 7, 1, 143360, "MIG 7g.141gb"},
                         {7, 20, 1, 1, 16, 1, 1, 1, 1, 16384, "MIG 1g.18gb+me"},
                         {9, 15, 1, 4, 26, 1, 1, 1, 0, 33280, "MIG 1g.35gb"}}) {
    layout::GpuInstanceProfileInfoV2 info{.version = layout::kGpuInstanceProfileInfoV2};
    ASSERT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfoV", gpu_, row.argument, &info),
              abi::kSuccess);
    EXPECT_STREQ(info.name, row.name);
    EXPECT_EQ(std::tuple(info.id, info.slices, info.instances, info.multiprocessors),
              std::tuple(row.id, row.slices, row.instances, row.multiprocessors));
    EXPECT_EQ(std::tuple(info.copy_engines, info.decoders, info.encoders, info.jpegs, info.ofas),
              std::tuple(row.copy, row.decode, 0U, row.jpeg, row.ofa));
    EXPECT_EQ(info.memory_mib, row.memory_mib);
    EXPECT_EQ(info.version, 0U);
  }
  abi::GpuInstanceProfileInfo info{};
  for (const unsigned argument : {5U, 6U, 8U, 10U, 16U}) {
    EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfo", gpu_, argument, &info),
              abi::kNotSupported);
  }
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfo", gpu_, 17U, &info), abi::kInvalidArgument);
}

TEST_F(RealGpu, HasRoomForInstancesWithMigOff) {
  unsigned count = 0;
  abi::Placement* none = nullptr;
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuInstancePossiblePlacements_v2", gpu_, 19U, none, &count),
            abi::kSuccess);
  EXPECT_EQ(count, 7U);
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuInstanceRemainingCapacity", gpu_, 9U, &count), abi::kSuccess);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceRemainingCapacity", gpu_, 77U, &count),
            abi::kInvalidArgument);
}

TEST_F(RealGpu, HasNoMigDevices) {
  abi::Device mig = nullptr;
  abi::GpuInstance instance = nullptr;
  abi::DeviceAttributes attributes{};
  unsigned value = 0;
  EXPECT_EQ(nvml().number("nvmlDeviceGetMaxMigDeviceCount", gpu_), 0U);
  EXPECT_EQ(nvml()("nvmlDeviceGetMigDeviceHandleByIndex", gpu_, 0U, &mig), abi::kNotFound);
  EXPECT_EQ(nvml()("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", gpu_, &mig),
            abi::kInvalidArgument);
  EXPECT_EQ(nvml()("nvmlDeviceGetAttributes_v2", gpu_, &attributes), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceById", gpu_, 0U, &instance), abi::kNotFound);
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceId", gpu_, &value), abi::kInvalidArgument);
  EXPECT_EQ(nvml()("nvmlDeviceGetComputeInstanceId", gpu_, &value), abi::kInvalidArgument);
}

TEST_F(RealGpu, HasFieldsOfTheseTypes) {
  struct Row {
    unsigned id;
    abi::Return result;
    int type;
  };
  for (const Row& row : {Row{1, 0, abi::kValueUlonglong},
                         {4, 0, abi::kValueUlonglong},
                         {31, abi::kNotSupported, 0},
                         {83, 0, abi::kValueUlonglong},
                         {91, abi::kNotSupported, 0},
                         {94, 0, abi::kValueUint},
                         {143, 0, abi::kValueUlonglong},
                         {146, abi::kNotSupported, 0},
                         {160, abi::kNotSupported, 0},
                         {164, abi::kNotSupported, 0},
                         {226, 0, abi::kValueUint},
                         {227, 0, abi::kValueUint},
                         {230, 0, abi::kValueUint},
                         {999, abi::kInvalidArgument, 0}}) {
    const abi::FieldValue value = nvml().field(gpu_, row.id);
    EXPECT_EQ(value.result, row.result) << row.id;
    if (row.result == abi::kSuccess) {
      EXPECT_EQ(value.value_type, row.type) << row.id;
    }
  }
}

TEST_F(RealGpu, HasNoLinksAndNoFabric) {
  unsigned value = 0;
  for (const unsigned link : {0U, 17U, 18U, 36U}) {
    EXPECT_EQ(nvml()("nvmlDeviceGetNvLinkState", gpu_, link, &value), abi::kNotSupported) << link;
  }
  abi::FabricInfoV2 fabric{.version = abi::kFabricInfoV2};
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuFabricInfoV", gpu_, &fabric), abi::kSuccess);
  EXPECT_EQ(fabric.version, abi::kFabricInfoV2);
  EXPECT_EQ(fabric.state, abi::kFabricNotSupported);
  fabric.version = 7;
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuFabricInfoV", gpu_, &fabric), abi::kArgumentVersionMismatch);
}

TEST_F(RealGpu, IsNoPeerOfItself) {
  int value = -1;
  EXPECT_EQ(nvml()("nvmlDeviceGetTopologyCommonAncestor", gpu_, gpu_, &value), abi::kNotSupported);
  ASSERT_EQ(nvml()("nvmlDeviceGetP2PStatus", gpu_, gpu_, 0, &value), abi::kSuccess);
  EXPECT_EQ(value, 5);
  unsigned count = 5;
  abi::Device* none = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetTopologyNearestGpus", gpu_, 50, &count, none),
            abi::kInvalidArgument);
}

TEST_F(RealGpu, IsNotFoundByNonsense) {
  abi::Device found = nullptr;
  for (const char* uuid : {"GPU-x", "MIG-x", ""}) {
    EXPECT_EQ(nvml()("nvmlDeviceGetHandleByUUID", uuid, &found), abi::kNotFound) << uuid;
  }
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByPciBusId_v2", "zz", &found), abi::kInvalidArgument);
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByPciBusId_v2", "0:ff:1f.0", &found), abi::kNotFound);
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleBySerial", "1", &found), abi::kNotFound);
}

}  // namespace
}  // namespace tranche::testbed::sim
