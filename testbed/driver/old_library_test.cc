// SPDX-License-Identifier: Apache-2.0
//
// The library as a driver of the R470 branch had it.
#include "testbed/driver/testing/nvml_client.h"

namespace tranche::testbed::sim {
namespace {

class OldLibrary : public ::testing::Test {
 protected:
  OldLibrary() {
    World world = *builtin_world("dgx-a100");
    world.driver.version = world.driver.module_version = "470.256.02";
    const auto node = SimulatedNode::create(
        folder_.path("root"), world, {.library = TRANCHE_SIM_OLD_LIBRARY, .plain_files = true});
    EXPECT_TRUE(node) << node.error().message;
    client_ = std::make_unique<NvmlClient>(node->driver_library());
    EXPECT_EQ((*client_)("nvmlInit_v2"), abi::kSuccess);
  }
  const NvmlClient& nvml() const { return *client_; }

 private:
  const TempDir folder_;
  std::unique_ptr<NvmlClient> client_;
};

TEST_F(OldLibrary, LacksTheFunctionsThatCameLater) {
  for (const char* name :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetGpuFabricInfoV",
        "nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetGpuInstanceProfileInfoV",
        "nvmlDeviceSetMemoryLimits_v1", "nvmlDeviceGetNumaNodeId"}) {
    EXPECT_FALSE(nvml().has(name)) << name;
  }
  EXPECT_TRUE(nvml().has("nvmlDeviceGetComputeRunningProcesses_v2"));
}

TEST_F(OldLibrary, AnswersWhatItHas) {
  ASSERT_EQ(nvml().count(), 8U);
  const abi::Device gpu = nvml().gpu(0);
  EXPECT_EQ(nvml().text("nvmlDeviceGetName", gpu), "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(nvml().field(gpu, abi::kFieldRecoveryAction).result, abi::kInvalidArgument);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldNvSwitchLinkCount).value.ui, 12U);
  // The driver's own memory is not in the total yet.
  abi::Memory memory{};
  ASSERT_EQ(nvml()("nvmlDeviceGetMemoryInfo", gpu, &memory), abi::kSuccess);
  EXPECT_EQ(memory.total >> 20, 40960U - 518U);
}

}  // namespace
}  // namespace tranche::testbed::sim
