// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/device_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::programs {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGpu = "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c";
constexpr const char* kMig = "MIG-3eb87630-93d5-b2b6-b8ff-9b359caf4ee2";
constexpr const char* kOldMig = "MIG-GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2/10/0";

TEST(DeviceRef, IsAnIndexAMigIndexOrAUuid) {
  EXPECT_EQ(*parse_device_ref("0"), DeviceRef(GpuIndex{0}));
  EXPECT_EQ(*parse_device_ref("0:1"), DeviceRef(MigIndex{0, 1}));
  EXPECT_EQ(*parse_device_ref(kGpu), DeviceRef(AnyUuid{kGpu}));
  EXPECT_EQ(*parse_device_ref(kMig), DeviceRef(AnyUuid{kMig}));
  EXPECT_EQ(*parse_device_ref(kOldMig), DeviceRef(AnyUuid{kOldMig}));
}

TEST(DeviceRef, MakesHexadecimalDigitsLowerCaseAsTheDriverDoes) {
  EXPECT_EQ(*parse_device_ref("GPU-4CF8DB2D-06C0-7D70-1A51-E59B25B2C16C"),
            DeviceRef(AnyUuid{kGpu}));
}

TEST(DeviceRef, RefusesEverythingElse) {
  for (const char* text : {"",
                           "-1",
                           "1.0",
                           "0:",
                           ":0",
                           "0:0:0",
                           "all",
                           "invalid-UUID",
                           "GPU-UUID",
                           "MIG-UUID",
                           "GPU-",
                           "gpu-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c",
                           "4cf8db2d-06c0-7d70-1a51-e59b25b2c16c",
                           "GPU-4cf8db2d06c07d701a51e59b25b2c16c",
                           "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16",
                           "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16g",
                           "MIG-GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c",
                           "MIG-GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c/0",
                           "MIG-GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c/0/x",
                           "99999999999"}) {
    const auto device = parse_device_ref(text);
    ASSERT_FALSE(device) << text;
    EXPECT_THAT(device.error().message, HasSubstr("unsupported type for device in devices list"));
  }
}

TEST(DeviceRef, IsWrittenAsItIsRead) {
  for (const char* text : {"0", "17", "0:1", kGpu, kMig, kOldMig}) {
    EXPECT_EQ(to_text(*parse_device_ref(text)), text);
  }
}

TEST(Exclusion, IsAnIndexAUuidAnAddressOrAPattern) {
  EXPECT_EQ(*parse_exclusion("3"), Exclusion(GpuIndex{3}));
  EXPECT_EQ(*parse_exclusion(kGpu), Exclusion(AnyUuid{kGpu}));
  EXPECT_EQ(*parse_exclusion("*T4*"), Exclusion(ModelPattern{"*T4*"}));
  EXPECT_EQ(*parse_exclusion("NVIDIA H200*"), Exclusion(ModelPattern{"NVIDIA H200*"}));
  for (const char* text :
       {"00000000:07:00.0", "0000:07:00.0", "07:00.0", "0000:07:00", "07:00", "0000:07:00.0"}) {
    EXPECT_EQ(*parse_exclusion(text), Exclusion(PciAddress{0, 7, 0, 0})) << text;
  }
  EXPECT_EQ(*parse_exclusion("0002:C1:00.0"), Exclusion(PciAddress{2, 0xC1, 0, 0}));
}

TEST(Exclusion, RefusesMigDevicesWithAReason) {
  for (const char* text : {"0:1", kMig, kOldMig}) {
    const auto exclusion = parse_exclusion(text);
    ASSERT_FALSE(exclusion) << text;
    EXPECT_THAT(exclusion.error().message, HasSubstr("only whole GPUs")) << text;
  }
}

TEST(Exclusion, RefusesWhatWouldMatchNothing) {
  for (const char* text : {"", "GPU-1", "T4", "-1", "07:00.9", "zz:00.0", "GPU 0"}) {
    const auto exclusion = parse_exclusion(text);
    ASSERT_FALSE(exclusion) << text;
    EXPECT_THAT(exclusion.error().message, HasSubstr("at least one *")) << text;
  }
}

TEST(Exclusion, IsReadBackFromWhatIsWritten) {
  for (const char* text : {"3", kGpu, "*T4*", "07:00.0", "0002:c1:1f.7"}) {
    const Exclusion exclusion = *parse_exclusion(text);
    EXPECT_EQ(*parse_exclusion(to_text(exclusion)), exclusion) << text;
  }
}

}  // namespace
}  // namespace tranche::programs
