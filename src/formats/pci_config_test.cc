// SPDX-License-Identifier: Apache-2.0
#include "formats/pci_config.h"

#include <gtest/gtest.h>

#include <string>

namespace tranche::formats {
namespace {

constexpr std::size_t kAt = 0xd0;

// Of an NVIDIA device with one capability.
std::string config_with(const std::string& capability) {
  std::string config(256, '\0');
  config[0] = '\xde';
  config[1] = '\x10';
  config[6] = '\x10';
  config[0x34] = static_cast<char>(kAt);
  return config.replace(kAt, capability.size(), capability);
}

std::string padded(std::string text) {
  text.resize(10, '\0');
  return text;
}

std::string vgpu_capability(const std::string& records) {
  const auto length = static_cast<char>(5 + records.size());
  return std::string("\x09\0", 2) + length + "VF" + records;
}

std::string host_record(const std::string& version, const std::string& branch) {
  return std::string("\0\x16", 2) + padded(version) + padded(branch);
}

TEST(PciConfig, NamesTheHypervisorsDriverOfAVirtualGpu) {
  const auto found =
      parse_vgpu_capability(config_with(vgpu_capability(host_record("550.90.05", "r550_00"))));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_vgpu);
  EXPECT_EQ(found->host, (VgpuHost{"550.90.05", "r550_00"}));
}

TEST(PciConfig, SkipsOtherRecords) {
  const std::string other("\x01\x04\x02\x03", 4);
  const auto found =
      parse_vgpu_capability(config_with(vgpu_capability(other + host_record("460.16", "r460_00"))));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->host.driver_version, "460.16");
}

TEST(PciConfig, TellsACardFromAVirtualGpu) {
  std::string bare = config_with("");
  bare[6] = '\0';
  EXPECT_EQ(parse_vgpu_capability(bare), VgpuCapability{});
  EXPECT_EQ(parse_vgpu_capability(config_with(std::string("\x05\0\0\0", 4))), VgpuCapability{});
  EXPECT_EQ(parse_vgpu_capability(config_with(std::string("\x09\0\x08\0\0\0\0\0", 8))),
            VgpuCapability{});
}

TEST(PciConfig, KnowsAVirtualGpuWithoutARecordOfItsHost) {
  const std::string endless("\x01\0", 2);  // a record of no length
  for (const std::string& records : {std::string(), endless, std::string("\0\x16", 2)}) {
    const auto found = parse_vgpu_capability(config_with(vgpu_capability(records)));
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_vgpu);
    EXPECT_EQ(found->host, VgpuHost{});
  }
}

TEST(PciConfig, SaysNothingWhereItCannotKnow) {
  EXPECT_FALSE(parse_vgpu_capability(""));
  // What a user without privileges may read.
  EXPECT_FALSE(parse_vgpu_capability(config_with("").substr(0, 64)));
  EXPECT_FALSE(parse_vgpu_capability(std::string(256, '\xff')));  // fell off the bus
  std::string loop = config_with(std::string("\x05\xd0", 2));
  EXPECT_FALSE(parse_vgpu_capability(loop));
  std::string outside = config_with("");
  outside[0x34] = '\xff';
  EXPECT_FALSE(parse_vgpu_capability(outside));
  std::string too_long = config_with(std::string("\x09\0\xff", 3));
  EXPECT_FALSE(parse_vgpu_capability(too_long));
  std::string other_vendor = config_with("");
  other_vendor[0] = '\x86';
  EXPECT_FALSE(parse_vgpu_capability(other_vendor));
}

}  // namespace
}  // namespace tranche::formats
