// SPDX-License-Identifier: Apache-2.0
#include "node/driver/kernel_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KernelRecord, TellsOfAnXid) {
  EXPECT_EQ(parse_kernel_record("4,1234,5678,-;NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', "
                                "name=<unknown>, GPU has fallen off the bus."),
            (KernelXid{PciAddress{0, 5, 0, 0}, 79,
                       "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."}));
}

TEST(KernelRecord, IsReadInTheVeryOldFormToo) {
  EXPECT_EQ(parse_kernel_record("4,1,2,-;NVRM: Xid (0000:01:00): 13, Graphics Exception"),
            (KernelXid{PciAddress{0, 1, 0, 0}, 13, "Graphics Exception"}));
}

TEST(KernelRecord, CountsAsXid79WhereACardFallsOffWithoutANumber) {
  const KernelXid fallen{PciAddress{0, 0x18, 0, 0}, 79, "GPU has fallen off the bus"};
  EXPECT_EQ(parse_kernel_record("4,1,2,-;NVRM: GPU 0000:18:00.0: GPU has fallen off the bus."),
            fallen);
  EXPECT_EQ(parse_kernel_record("4,1,2,-;NVRM: GPU at 0000:18:00.0 has fallen off the bus."),
            fallen);
}

TEST(KernelRecord, SaysNothingWhereThereIsNoError) {
  for (const char* record :
       {"", "4,1,2,-;", "4,1,2,-;NVRM: GPU at PCI:0000:91:00: GPU-1f8c",
        "4,1,2,-;usb 1-1: new device", "4,1,2,-;NVRM: Xid", "4,1,2,-;NVRM: Xid (PCI:zz): 79, x",
        "4,1,2,-;NVRM: Xid (PCI:0000:05:00): , x", "NVRM: Xid (PCI:0000:05:00): 79, x"}) {
    EXPECT_EQ(parse_kernel_record(record), std::nullopt) << record;
  }
}

TEST(KernelRecord, IsNotBelievedWhereAProgramWroteIt) {
  // 14 = facility 1 (user) × 8 + level 6.
  EXPECT_EQ(parse_kernel_record("14,1,2,-;NVRM: Xid (PCI:0000:05:00): 79, forged"), std::nullopt);
}

TEST(KernelLog, FollowsTheLogFromWhereItWasOpened) {
  const TempDir dir;
  std::ofstream file(dir.path("kmsg"), std::ios::app);
  file << "4,1,1,-;NVRM: Xid (PCI:0000:05:00): 79, old\n" << std::flush;
  auto log = KernelLog::open(dir.path("kmsg"));
  ASSERT_TRUE(log);
  EXPECT_THAT(log->drain(), IsEmpty());
  file << "4,2,2,-;NVRM: Xid (PCI:0000:06:00): 119, new\n SUBSYSTEM=pci\n"
       << "4,3,3,-;NVRM: Xid (PCI:0000:07:00): 12" << std::flush;
  EXPECT_THAT(log->drain(), ElementsAre(KernelXid{PciAddress{0, 6, 0, 0}, 119, "new"}));
  file << "0, unfinished before\n" << std::flush;
  EXPECT_THAT(log->drain(),
              ElementsAre(KernelXid{PciAddress{0, 7, 0, 0}, 120, "unfinished before"}));
}

TEST(KernelLog, KnowsWhichGpuTheLogHasNamedAtAnAddress) {
  const TempDir dir;
  std::ofstream file(dir.path("kmsg"), std::ios::app);
  auto log = KernelLog::open(dir.path("kmsg"));
  ASSERT_TRUE(log);
  file << "4,1,1,-;NVRM: Xid (PCI:0000:91:00): 31, x\n"
       << "4,2,2,-;NVRM: GPU at PCI:0000:91:00: GPU-1f8c\n"
       << "14,3,3,-;NVRM: GPU at PCI:0000:91:00: GPU-forged\n"
       << "4,4,4,-;NVRM: Xid (PCI:0000:91:00): 79, x\n"
       << std::flush;
  EXPECT_THAT(log->drain(), ElementsAre(KernelXid{PciAddress{0, 0x91, 0, 0}, 31, "x", ""},
                                        KernelXid{PciAddress{0, 0x91, 0, 0}, 79, "x", "GPU-1f8c"}));
}

TEST(KernelLog, SaysWhyItCannotBeRead) {
  const auto log = KernelLog::open("/nowhere/kmsg");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().message, "opening /nowhere/kmsg: No such file or directory");
}

}  // namespace
}  // namespace tranche::node
