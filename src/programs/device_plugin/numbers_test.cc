// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"
#include "programs/device_plugin/node_status.h"

namespace tranche::programs {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const GpuNumbers kThree{{0, {*a_gpu(0).pci, GpuUuid("GPU-0"), "NVIDIA H200"}},
                        {1, {*a_gpu(1).pci, GpuUuid("GPU-1"), "NVIDIA H200"}},
                        {4, {*a_gpu(4).pci, GpuUuid(), ""}}};

TEST(ForgetNumbers, IsRefusedForAGpuThatIsThereWhileAnotherIsMissing) {
  const GpuNumbers numbers{{0, {}}, {1, {}}, {2, {}}};
  const auto all = numbers_named({"all"}, numbers, {1});
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message, testing::HasSubstr("GPU 1 is missing"));
  EXPECT_FALSE(numbers_named({"2"}, numbers, {1}));
  EXPECT_TRUE(numbers_named({"1"}, numbers, {1}));
}

TEST(ForgetNumbers, TakesNumbersOrAll) {
  EXPECT_THAT(*numbers_named({"4", "0", "4"}, kThree), ElementsAre(0, 4));
  EXPECT_THAT(*numbers_named({"all"}, kThree), ElementsAre(0, 1, 4));
}

TEST(ForgetNumbers, RefusesANumberThatIsNotBoundAndNamesThoseThatAre) {
  for (const char* word : {"2", "-1", "01", "x", "", "all"}) {
    EXPECT_THAT(numbers_named({"0", word}, kThree).error().message,
                AllOf(HasSubstr("'" + std::string(word) + "' is not bound"), HasSubstr("0, 1, 4")));
  }
  EXPECT_THAT(numbers_named({}, kThree).error().message, HasSubstr("or 'all'"));
  EXPECT_THAT(numbers_named({"all"}, {}).error().message, HasSubstr("no GPU number is bound"));
}

TEST(NumbersTable, ShowsWhichSlotsHaveAGpuAndWhatTheDriverCounts) {
  NodeStatus status{.inventory = an_inventory({a_gpu(0), a_gpu(1)})};
  status.inventory.numbers = kThree;
  status.inventory.gpus[1].driver_index = 0;
  const std::string json = to_json(status);
  EXPECT_THAT(*numbers_table(json),
              AllOf(ContainsRegex("0 +0000:10:00.0 +GPU-0 +NVIDIA H200 +no +-\n"),
                    ContainsRegex("1 +0000:11:00.0 +GPU-1 +NVIDIA H200 +yes +0\n"),
                    ContainsRegex("4 +0000:14:00.0 +no +-\n")));
  EXPECT_THAT(*numbers_json(json), HasSubstr("\"driverIndex\": 0"));
  EXPECT_FALSE(numbers_table("{}"));
  EXPECT_FALSE(numbers_json("{}"));
}

TEST(DevicesTable, SaysWhereTheDriverCountsOtherwise) {
  NodeStatus status{.inventory = an_inventory({a_gpu(0), a_gpu(2)})};
  status.inventory.gpus[0].driver_index = 0;
  status.inventory.gpus[1].driver_index = 2;
  EXPECT_THAT(*status_tables(to_json(status)), Not(HasSubstr("now counts")));
  status.inventory.gpus[1].driver_index = 1;
  EXPECT_THAT(*status_tables(to_json(status)), HasSubstr("now counts GPU 2 as 1."));
}

}  // namespace
}  // namespace tranche::programs
