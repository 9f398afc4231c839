// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/gpu_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"

namespace tranche::programs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(GpuWords, TakeGpusByUuidIndexOrPciAddress) {
  Inventory node = a_node(3);
  node.gpus[2].pci = parse_pci_address("0000:3b:00.0");
  EXPECT_THAT(*gpus_named({"GPU-1", "0", "0000:3b:00.0"}, node),
              ElementsAre(GpuUuid("GPU-1"), GpuUuid("GPU-0"), GpuUuid("GPU-2")));
  EXPECT_THAT(*gpus_named({}, node), IsEmpty());
}

TEST(GpuWords, TakeAPciAddressAsTheKernelsLogHasIt) {
  // NVRM: Xid (PCI:0000:11:00): 79, …
  EXPECT_EQ(*gpu_named("PCI:0000:11:00", a_node(3)), GpuUuid("GPU-1"));
}

TEST(GpuWords, NameTheWordThatIsNoGpu) {
  EXPECT_THAT(gpus_named({"0", "7"}, a_node(3)).error().message, HasSubstr("no GPU '7'"));
}

// GPU 1 fell off the bus: the driver counts GPU 2 as 1.
Inventory counted_again() {
  Inventory node = a_node(3);
  node.gpus[0].driver_index = 0;
  node.gpus[2].driver_index = 1;
  return node;
}

TEST(GpuWords, RefuseAnIndexThatCanMeanTwoGpus) {
  const auto refused = gpus_named({"1"}, counted_again());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "'1' can mean two GPUs: GPU 1 (driver's index none, GPU-1, PCI address 0000:11:00.0) "
            "and, as the driver counts, GPU 2 (driver's index 1, GPU-2, PCI address "
            "0000:12:00.0); name it by uuid or PCI address");
  EXPECT_THAT(*gpus_named({"0", "0000:11:00.0", "GPU-2"}, counted_again()),
              ElementsAre(GpuUuid("GPU-0"), GpuUuid("GPU-1"), GpuUuid("GPU-2")));
}

TEST(GpuWords, TakeANumberThatTheDriverDoesNotCount) {
  EXPECT_THAT(*gpus_named({"2"}, counted_again()), ElementsAre(GpuUuid("GPU-2")));
}

TEST(GpuWords, RefuseTheDriversIndexOfAGpuWithAnotherNumber) {
  Inventory node = counted_again();
  node.gpus.erase(node.gpus.begin() + 1);
  EXPECT_THAT(gpus_named({"1"}, node).error().message,
              AllOf(HasSubstr("this number, which is not there"), HasSubstr("GPU-2")));
}

TEST(GpuWords, TakeTheBeginningOfAUuidIfItIsOneGpus) {
  Inventory node = an_inventory({a_gpu(10), a_gpu(11), a_cut_gpu(20, {k1g10gb})});
  EXPECT_THAT(*gpus_named({"GPU-2"}, node), ElementsAre(GpuUuid("GPU-20")));
  EXPECT_EQ(gpu_named("GPU-1", node).error().message,
            "'GPU-1' is the beginning of several uuids: GPU 10 (GPU-10, PCI address "
            "0000:1a:00.0), GPU 11 (GPU-11, PCI address 0000:1b:00.0)");
  EXPECT_THAT(gpu_named("GPU-", node).error().message, HasSubstr("no GPU 'GPU-'"));
}

TEST(GpuWords, TakeAMigDeviceForItsGpu) {
  const Inventory node = an_inventory({a_gpu(0), a_cut_gpu(1, {k1g10gb})});
  EXPECT_EQ(*gpu_named("MIG-1-0", node), GpuUuid("GPU-1"));
}

TEST(GpuWords, SayThatASlotIsEmpty) {
  Inventory node = a_node(2);
  node.numbers[3] = {{0, 0x3b, 0, 0}, GpuUuid("GPU-old"), "Tesla T4"};
  for (const char* word : {"3", "0000:3b:00.0", "GPU-old"}) {
    EXPECT_EQ(gpu_named(word, node).error().message,
              "GPU 3 is not there: its slot, PCI address 0000:3b:00.0, is empty now; last seen "
              "there: GPU-old, Tesla T4");
  }
}

}  // namespace
}  // namespace tranche::programs
