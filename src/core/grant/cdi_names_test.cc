// SPDX-License-Identifier: Apache-2.0
#include "core/grant/cdi_names.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tranche::core {
namespace {

TEST(CdiNames, ALegalIdIsItsOwnName) {
  EXPECT_EQ(cdi_device_name("GPU-8f1c-33"), "GPU-8f1c-33");
  EXPECT_EQ(cdi_device_name("0:1"), "0:1");
  EXPECT_EQ(cdi_device_name("a_b.c"), "a_b.c");
}

TEST(CdiNames, TheSlashesOfOldMigIdsBecomeUnderscores) {
  EXPECT_EQ(cdi_device_name("MIG-GPU-8f1c/7/0"), "MIG-GPU-8f1c_7_0");
}

TEST(CdiNames, ANameBeginsAndEndsWithALetterOrADigit) {
  EXPECT_EQ(cdi_device_name("-GPU-1_"), "GPU-1");
  EXPECT_EQ(cdi_device_name("GPU é 1"), "GPU____1");
  EXPECT_EQ(cdi_device_name("//"), "");
  EXPECT_EQ(cdi_device_name(""), "");
}

TEST(CdiNames, TheIdStrategyChoosesUuidOrIndex) {
  const Gpu gpu = {.uuid = GpuUuid("GPU-a"), .index = 3};
  const MigDevice mig = {.uuid = MigUuid("MIG-b"), .index = 1};
  EXPECT_EQ(cdi_device_name(gpu, DeviceIdStrategy::kUuid), "GPU-a");
  EXPECT_EQ(cdi_device_name(gpu, DeviceIdStrategy::kIndex), "3");
  EXPECT_EQ(cdi_device_name(gpu, mig, DeviceIdStrategy::kUuid), "MIG-b");
  EXPECT_EQ(cdi_device_name(gpu, mig, DeviceIdStrategy::kIndex), "3:1");
}

TEST(CdiNames, CountGpusAsTheDriverDoes) {
  const MigDevice mig = {.uuid = MigUuid("MIG-b"), .index = 1};
  Gpu gpu = {.uuid = GpuUuid("GPU-a"), .index = 3, .driver_index = 2};
  EXPECT_EQ(cdi_device_name(gpu, DeviceIdStrategy::kIndex), "2");
  EXPECT_EQ(cdi_device_name(gpu, mig, DeviceIdStrategy::kIndex), "2:1");
  gpu.driver_index.reset();
  gpu.lost = true;  // and not listed: index 3 may be another GPU's
  EXPECT_EQ(cdi_device_name(gpu, DeviceIdStrategy::kIndex), "");
  EXPECT_EQ(cdi_device_name(gpu, mig, DeviceIdStrategy::kIndex), "");
  EXPECT_EQ(cdi_device_name(gpu, DeviceIdStrategy::kUuid), "GPU-a");
}

TEST(CdiNames, AreThoseOfNvidiasPlugin) {
  EXPECT_EQ(cdi_qualified_name("gpu", "GPU-a"), "k8s.device-plugin.nvidia.com/gpu=GPU-a");
  EXPECT_EQ(cdi_file_name("imex-channel"), "k8s.device-plugin.nvidia.com-imex-channel.json");
}

TEST(CdiNames, ListsAreSorted) {
  EXPECT_TRUE(std::ranges::is_sorted(cdi_classes()));
  EXPECT_TRUE(std::ranges::is_sorted(known_cdi_hooks()));
  EXPECT_TRUE(std::ranges::is_sorted(known_cdi_feature_flags()));
}

}  // namespace
}  // namespace tranche::core
