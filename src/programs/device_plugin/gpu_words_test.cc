// SPDX-License-Identifier: Apache-2.0
#include "apps/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/literals.h"

namespace tranche {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Release, TakesGpusByUuidIndexOrPciAddress) {
  Inventory node = a_node(3);
  node.gpus[2].pci = parse_pci_address("0000:3b:00.0");
  EXPECT_THAT(*gpus_named({"GPU-1", "0", "0000:3b:00.0"}, node),
              ElementsAre(GpuUuid("GPU-1"), GpuUuid("GPU-0"), GpuUuid("GPU-2")));
  EXPECT_THAT(*gpus_named({}, node), IsEmpty());
}

TEST(Release, NamesTheWordThatIsNoGpu) {
  EXPECT_THAT(gpus_named({"0", "7"}, a_node(3)).error().message, HasSubstr("no GPU '7'"));
}

// GPU 1 fell off the bus: the driver counts GPU 2 as 1.
Inventory counted_again() {
  Inventory node = a_node(3);
  node.gpus[0].driver_index = 0;
  node.gpus[2].driver_index = 1;
  return node;
}

TEST(Release, RefusesAnIndexThatCanMeanTwoGpus) {
  const auto refused = gpus_named({"1"}, counted_again());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "'1' can mean two GPUs: GPU 1 (driver's index none, GPU-1, PCI address 0000:11:00.0) "
            "and, as the driver counts, GPU 2 (driver's index 1, GPU-2, PCI address "
            "0000:12:00.0); name it by uuid or PCI address");
  EXPECT_THAT(*gpus_named({"0", "0000:11:00.0", "GPU-2"}, counted_again()),
              ElementsAre(GpuUuid("GPU-0"), GpuUuid("GPU-1"), GpuUuid("GPU-2")));
}

TEST(Release, TakesANumberThatTheDriverDoesNotCount) {
  EXPECT_THAT(*gpus_named({"2"}, counted_again()), ElementsAre(GpuUuid("GPU-2")));
}

TEST(Release, RefusesTheDriversIndexOfAGpuWithAnotherNumber) {
  Inventory node = counted_again();
  node.gpus.erase(node.gpus.begin() + 1);
  EXPECT_THAT(gpus_named({"1"}, node).error().message,
              AllOf(HasSubstr("this number, which is not there"), HasSubstr("GPU-2")));
}

TEST(Release, SaysWhatBecomesOfTheOtherGpus) {
  EXPECT_THAT(release_answer({}), AllOf(HasSubstr("'resume'"), Not(HasSubstr("other GPUs"))));
  EXPECT_THAT(release_answer({.all_gpus = false, .follows_kernel_log = true}),
              HasSubstr("the other GPUs stay offered"));
  EXPECT_THAT(release_answer({.all_gpus = false}), HasSubstr("no GPU is healthy until then"));
}

TEST(Release, SaysThatMpsDaemonsStay) {
  EXPECT_THAT(release_answer({.has_mps_daemons = true}), HasSubstr("MPS daemons"));
  EXPECT_THAT(release_answer({}), Not(HasSubstr("MPS")));
}

}  // namespace
}  // namespace tranche
