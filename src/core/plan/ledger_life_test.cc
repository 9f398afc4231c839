// SPDX-License-Identifier: Apache-2.0
//
// Nothing is allocated twice, whatever happens in whatever order.
#include "core/plan/testing/ledger_life.h"

#include <gtest/gtest.h>

#include <vector>

namespace tranche::core {
namespace {

using ledger_life::kGiB;
using ledger_life::World;

ResourcePolicy row(const char* name, ShareForm form, unsigned replicas = 1) {
  ResourcePolicy policy{.resource = ResourceName(name), .replicas = replicas, .unit = kGiB};
  policy.terms.form = form;
  policy.terms.placement = SharePlacement::kPack;
  return policy;
}

Settings with_rows(std::vector<ResourcePolicy> rows) {
  Settings settings;
  settings.sharing.policies = std::move(rows);
  return settings;
}

Settings with_mig(MigStrategy strategy) {
  Settings settings;
  settings.sharing.mig = strategy;
  return settings;
}

Settings with_time_slicing(unsigned replicas) {
  Settings settings;
  settings.sharing.replications = {
      {.resource = ResourceName("nvidia.com/gpu"), .replicas = replicas}};
  return settings;
}

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kMemory = "aliyun.com/gpu-mem";
constexpr const char* kReplicas = "deepomatic.com/shared-gpu";

ResourcePolicy enforced(ResourcePolicy policy) {
  policy.terms.demanded = Enforcement::kDriver;
  return policy;
}

ResourcePolicy in_units_of(std::uint64_t bytes) {
  ResourcePolicy policy = row(kMemory, ShareForm::kMemory);
  policy.unit = bytes;
  return policy;
}

void live_long(const std::vector<Settings>& configurations) {
  unsigned granted = 0;
  unsigned refused = 0;
  unsigned in_flight = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    World world(configurations, seed);
    for (int step = 0; step < 250; ++step) {
      world.step();
      ASSERT_EQ(world.complaint(), "") << "seed " << seed << ", step " << step;
    }
    granted += world.granted();
    refused += world.refused();
    in_flight += world.in_flight();
  }
  EXPECT_GT(granted, 100U) << "the lives were too quiet to show anything";
  EXPECT_GT(refused, 0U) << "and Allocate was never the last line";
  EXPECT_GT(in_flight, 0U) << "and no call was open at a reload";
}

TEST(NothingIsGivenTwice, UnderThreeNamesOfOneGpu) {
  live_long({with_rows({row(kGpu, ShareForm::kWhole), row(kMemory, ShareForm::kMemory),
                        row(kReplicas, ShareForm::kReplicas, 8)})});
}

TEST(NothingIsGivenTwice, UnderTwoNamesThatBothCountMemory) {
  ResourcePolicy coarse = row("example.com/coarse", ShareForm::kMemory);
  coarse.unit = 4 * kGiB;
  live_long({with_rows({row(kMemory, ShareForm::kMemory), coarse})});
}

TEST(NothingIsGivenTwice, WhereTheLargestBlockIsShown) {
  ResourcePolicy memory = row(kMemory, ShareForm::kMemory);
  memory.terms.shown = ShownSize::kLargestBlock;
  live_long({with_rows({memory, row(kGpu, ShareForm::kWhole)})});
}

// One name for each GPU at any time; another one at each reload.
TEST(NothingIsGivenTwice, WhenNamesChange) {
  live_long({Settings{}, with_rows({row(kReplicas, ShareForm::kReplicas, 4)}),
             with_rows({row(kMemory, ShareForm::kMemory)}), with_time_slicing(3)});
}

TEST(NothingIsGivenTwice, WhenReplicasAndUnitsChange) {
  live_long({with_rows({enforced(row(kReplicas, ShareForm::kReplicas, 2))}),
             with_rows({enforced(row(kReplicas, ShareForm::kReplicas, 8))}),
             with_rows({row(kReplicas, ShareForm::kReplicas, 4)}), with_rows({in_units_of(kGiB)}),
             with_rows({in_units_of(2 * kGiB)})});
}

TEST(NothingIsGivenTwice, WhenTheMigStrategyChanges) {
  live_long({with_mig(MigStrategy::kNone), with_mig(MigStrategy::kSingle),
             with_mig(MigStrategy::kMixed), with_time_slicing(2)});
}

TEST(NothingIsGivenTwice, WhenAnEnforcedNameCanBeEnforcedNoLonger) {
  live_long({with_rows({row(kGpu, ShareForm::kWhole), enforced(in_units_of(kGiB))}),
             with_rows({row(kGpu, ShareForm::kWhole), enforced(in_units_of(4 * kGiB))})});
}

}  // namespace
}  // namespace tranche::core
