// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "testbed/driver/more_abi.h"
#include "testbed/driver/testing/nvml_client.h"

namespace tranche::testbed::sim {
namespace {

class MigDevices : public SimulatedDriver {
 protected:
  abi::Device device(const std::string& layout, unsigned index) {
    Result<World> world = set_mig(0, *parse_layout(layout))(*builtin_world("dgx-a100"));
    EXPECT_TRUE(world) << world.error().message;
    start(*world);
    return nvml().mig(nvml().gpu(0), index);
  }
  abi::GpuInstance instance(unsigned id) const {
    abi::GpuInstance found = nullptr;
    EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceById", nvml().gpu(0), id, &found), abi::kSuccess);
    return found;
  }
};

TEST_F(MigDevices, AreFoundByTheirIndex) {
  const abi::Device mig = device("3g.20gb,2g.10gb,1g.5gb,1g.5gb", 0);
  const abi::Device gpu = nvml().gpu(0);
  EXPECT_EQ(nvml().number("nvmlDeviceGetMaxMigDeviceCount", gpu), 7U);
  EXPECT_EQ(nvml().text("nvmlDeviceGetName", mig), "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
  EXPECT_TRUE(nvml().text("nvmlDeviceGetUUID", mig).starts_with("MIG-"));
  EXPECT_EQ(nvml().number("nvmlDeviceIsMigDeviceHandle", mig), 1U);
  EXPECT_EQ(nvml().number("nvmlDeviceIsMigDeviceHandle", gpu), 0U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetGpuInstanceId", mig), 2U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetComputeInstanceId", mig), 0U);
  abi::Device parent = nullptr;
  ASSERT_EQ(nvml()("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig, &parent), abi::kSuccess);
  EXPECT_EQ(parent, gpu);
  abi::Device none = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 4U, &none), abi::kNotFound);
  EXPECT_EQ(nvml()("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 7U, &none), abi::kInvalidArgument);
}

TEST_F(MigDevices, AreFoundByTheirUuidInBothForms) {
  const abi::Device mig = device("3g.20gb,3g.20gb", 1);
  const std::string uuid = nvml().text("nvmlDeviceGetUUID", mig);
  const std::string old = "MIG-" + world().gpus[0].uuid.text + "/2/0";
  abi::Device found = nullptr;
  for (const std::string& form : {uuid, old}) {
    ASSERT_EQ(nvml()("nvmlDeviceGetHandleByUUID", form.c_str(), &found), abi::kSuccess) << form;
    EXPECT_EQ(found, mig);
  }
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByUUID", "MIG-none", &found), abi::kNotFound);
}

TEST_F(MigDevices, LeaveAHoleWhenOneIsDestroyed) {
  const abi::Device mig = device("2g.10gb,2g.10gb,2g.10gb", 1);
  apply(remove_mig_device(0, 1));
  std::array<char, 96> text{};
  abi::Device none = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", mig, text.data(), 96U), abi::kInvalidArgument);
  EXPECT_EQ(nvml()("nvmlDeviceGetMigDeviceHandleByIndex", nvml().gpu(0), 1U, &none),
            abi::kNotFound);
  const abi::Device last = nvml().mig(nvml().gpu(0), 2);
  EXPECT_EQ(nvml().number("nvmlDeviceGetGpuInstanceId", last), 5U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetIndex", last), 2U);
}

TEST_F(MigDevices, HaveTheAttributesOfTheirProfile) {
  const abi::Device whole = device("3g.20gb:1c:2c,2g.10gb", 2);
  abi::DeviceAttributes attributes{};
  ASSERT_EQ(nvml()("nvmlDeviceGetAttributes_v2", whole, &attributes), abi::kSuccess);
  EXPECT_EQ(attributes.memory_mib, 9856U);
  EXPECT_EQ(attributes.multiprocessors, 28U);
  EXPECT_EQ(attributes.gpu_instance_slices, 2U);
  EXPECT_EQ(attributes.compute_instance_slices, 2U);
  const abi::Device part = nvml().mig(nvml().gpu(0), 1);
  ASSERT_EQ(nvml()("nvmlDeviceGetAttributes_v2", part, &attributes), abi::kSuccess);
  EXPECT_EQ(attributes.gpu_instance_slices, 3U);
  EXPECT_EQ(attributes.compute_instance_slices, 1U);
  EXPECT_EQ(attributes.multiprocessors, 14U);
  EXPECT_EQ(nvml().text("nvmlDeviceGetName", part), "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb");
  EXPECT_EQ(nvml()("nvmlDeviceGetAttributes_v2", nvml().gpu(0), &attributes), abi::kNotSupported);
}

TEST_F(MigDevices, HaveMemoryAndProcessesOfTheirOwn) {
  const abi::Device mig = device("3g.20gb,3g.20gb", 0);
  apply(set_processes(0, {{.pid = 1, .memory_mib = 100, .gpu_instance = 1, .compute_instance = 0},
                          {.pid = 2, .memory_mib = 50, .gpu_instance = 2, .compute_instance = 0}}));
  abi::Memory memory{};
  ASSERT_EQ(nvml()("nvmlDeviceGetMemoryInfo", mig, &memory), abi::kSuccess);
  EXPECT_EQ(memory.total >> 20, 19968U);
  EXPECT_EQ(memory.used >> 20, 100U);
  std::array<abi::ProcessInfo, 4> infos{};
  unsigned count = 4;
  ASSERT_EQ(nvml()("nvmlDeviceGetComputeRunningProcesses_v3", mig, &count, infos.data()),
            abi::kSuccess);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(infos[0].pid, 1U);
  count = 4;
  ASSERT_EQ(nvml()("nvmlDeviceGetComputeRunningProcesses_v3", nvml().gpu(0), &count, infos.data()),
            abi::kSuccess);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(infos[1].gpu_instance_id, 2U);
}

TEST_F(MigDevices, TakeCallsAwayFromTheirParent) {
  const abi::Device mig = device("3g.20gb", 0);
  const abi::Device gpu = nvml().gpu(0);
  abi::Utilization rates{};
  int mode = 0;
  unsigned value = 0;
  std::array<unsigned, 4> rows{};
  EXPECT_EQ(nvml()("nvmlDeviceGetUtilizationRates", gpu, &rates), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetComputeMode", gpu, &mode), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetRemappedRows", gpu, rows.data(), &rows[1], &rows[2], &rows[3]),
            abi::kNotSupported);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldRemapPending).result, abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetMinorNumber", mig, &value), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceId", gpu, &value), abi::kInvalidArgument);
}

TEST_F(MigDevices, GoWithTheMode) {
  device("3g.20gb", 0);
  const abi::Device gpu = nvml().gpu(0);
  apply(mig_off(0));
  unsigned current = 9;
  unsigned pending = 9;
  ASSERT_EQ(nvml()("nvmlDeviceGetMigMode", gpu, &current, &pending), abi::kSuccess);
  EXPECT_EQ(current, 0U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetMaxMigDeviceCount", gpu), 0U);
}

TEST_F(MigDevices, LieInGpuInstances) {
  const abi::Device mig = device("3g.20gb:1c:2c,2g.10gb,1g.5gb+me", 0);
  abi::GpuInstanceInfo info{};
  ASSERT_EQ(nvml()("nvmlGpuInstanceGetInfo", instance(2), &info), abi::kSuccess);
  EXPECT_EQ(info.device, nvml().gpu(0));
  EXPECT_EQ(info.profile_id, 9U);
  EXPECT_EQ(info.placement.start, 4U);
  EXPECT_EQ(info.placement.size, 4U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetComputeInstanceId", mig), 0U);
  abi::ComputeInstance compute = nullptr;
  ASSERT_EQ(nvml()("nvmlGpuInstanceGetComputeInstanceById", instance(2), 0U, &compute),
            abi::kSuccess);
  abi::ComputeInstanceInfo inside{};
  ASSERT_EQ(nvml()("nvmlComputeInstanceGetInfo_v2", compute, &inside), abi::kSuccess);
  EXPECT_EQ(inside.gpu_instance, instance(2));
  EXPECT_EQ(inside.profile_id, 1U);  // two slices
  EXPECT_EQ(inside.placement.size, 2U);
  EXPECT_EQ(nvml()("nvmlGpuInstanceGetComputeInstanceById", instance(2), 5U, &compute),
            abi::kNotFound);
  abi::GpuInstance none = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceById", nvml().gpu(0), 1U, &none), abi::kNotFound);
  std::array<abi::GpuInstance, 8> all{};
  unsigned count = 0;
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuInstances", nvml().gpu(0), 14U, all.data(), &count),
            abi::kSuccess);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(all[0], instance(3));
  std::array<abi::ComputeInstance, 8> parts{};
  ASSERT_EQ(nvml()("nvmlGpuInstanceGetComputeInstances", instance(2), 0U, parts.data(), &count),
            abi::kSuccess);
  EXPECT_EQ(count, 1U);
}

TEST_F(MigDevices, AreMadeFromTheProfilesOfTheModel) {
  device("3g.20gb", 0);
  const abi::Device gpu = nvml().gpu(0);
  abi::GpuInstanceProfileInfo info{};
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfo", gpu, 2U, &info), abi::kSuccess);
  EXPECT_EQ(info.id, 9U);
  EXPECT_EQ(info.memory_mib, 19968U);
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfo", gpu, 5U, &info), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfo", gpu, 99U, &info), abi::kInvalidArgument);
  layout::GpuInstanceProfileInfoV2 second{.version = layout::kGpuInstanceProfileInfoV2};
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfoV", gpu, 7U, &second), abi::kSuccess);
  EXPECT_STREQ(second.name, "MIG 1g.5gb+me");
  layout::GpuInstanceProfileInfoV3 third{.version = layout::kGpuInstanceProfileInfoV3};
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfoV", gpu, 0U, &third), abi::kSuccess);
  EXPECT_STREQ(third.name, "MIG 1g.5gb");
  EXPECT_EQ(third.instances, 7U);
  third.version = 3;
  EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceProfileInfoV", gpu, 0U, &third),
            abi::kArgumentVersionMismatch);
  abi::ComputeInstanceProfileInfo compute{};
  ASSERT_EQ(nvml()("nvmlGpuInstanceGetComputeInstanceProfileInfo", instance(2), 0U, 0U, &compute),
            abi::kSuccess);
  EXPECT_EQ(compute.instances, 3U);
  layout::ComputeInstanceProfileInfoV3 named{.version = layout::kComputeInstanceProfileInfoV3};
  ASSERT_EQ(nvml()("nvmlGpuInstanceGetComputeInstanceProfileInfoV", instance(2), 0U, 0U, &named),
            abi::kSuccess);
  EXPECT_STREQ(named.name, "MIG 1c.3g.20gb");
}

TEST_F(MigDevices, FitWhereThereIsRoom) {
  device("3g.20gb", 0);
  const abi::Device gpu = nvml().gpu(0);
  const auto remaining = [&](unsigned profile) {
    unsigned count = 99;
    EXPECT_EQ(nvml()("nvmlDeviceGetGpuInstanceRemainingCapacity", gpu, profile, &count),
              abi::kSuccess);
    return count;
  };
  EXPECT_EQ(remaining(19), 4U);
  EXPECT_EQ(remaining(14), 2U);
  EXPECT_EQ(remaining(9), 1U);
  EXPECT_EQ(remaining(0), 0U);
  unsigned count = 0;
  abi::Placement* none = nullptr;
  ASSERT_EQ(nvml()("nvmlDeviceGetGpuInstancePossiblePlacements_v2", gpu, 14U, none, &count),
            abi::kSuccess);
  ASSERT_EQ(count, 3U);
  std::array<abi::Placement, 3> placements{};
  ASSERT_EQ(
      nvml()("nvmlDeviceGetGpuInstancePossiblePlacements_v2", gpu, 14U, placements.data(), &count),
      abi::kSuccess);
  EXPECT_EQ(placements[2].start, 4U);
  EXPECT_EQ(placements[2].size, 2U);
  ASSERT_EQ(nvml()("nvmlGpuInstanceGetComputeInstanceRemainingCapacity", instance(2), 2U, &count),
            abi::kSuccess);
  EXPECT_EQ(count, 0U);
}

}  // namespace
}  // namespace tranche::testbed::sim
