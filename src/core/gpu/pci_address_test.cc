// SPDX-License-Identifier: Apache-2.0
#include "core/gpu/pci_address.h"

#include <gtest/gtest.h>

namespace tranche::core {
namespace {

TEST(PciAddress, IsTheSameInEveryForm) {
  const PciAddress seven{0, 7, 0, 0};
  EXPECT_EQ(parse_pci_address("00000000:07:00.0"), seven);
  EXPECT_EQ(parse_pci_address("0000:07:00.0"), seven);
  EXPECT_EQ(parse_pci_address("07:00.0"), seven);
  EXPECT_EQ(parse_pci_address("0000:07:00"), seven);
  EXPECT_EQ(parse_pci_address("PCI:0000:07:00"), seven);
}

TEST(PciAddress, TakesUpperCaseAndWideDomains) {
  EXPECT_EQ(parse_pci_address("00010019:CA:1E.7"), (PciAddress{0x10019, 0xCA, 0x1E, 7}));
  EXPECT_EQ(to_string(PciAddress{0x10019, 0xCA, 0x1E, 7}), "10019:ca:1e.7");
}

TEST(PciAddress, IsWrittenAsTheKernelNamesItsFolders) {
  EXPECT_EQ(to_string(PciAddress{9, 6, 0, 0}), "0009:06:00.0");
}

TEST(PciAddress, RefusesWhatIsNone) {
  for (const char* text : {"", "07", "GPU-1", "0000:100:00.0", "0000:07:20.0", "0000:07:00.8",
                           "0000:07:00.", "x:07:00.0", "0:0:0:0", "PCI:", "PCI:PCI:07:00.0"}) {
    EXPECT_EQ(parse_pci_address(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tranche::core
