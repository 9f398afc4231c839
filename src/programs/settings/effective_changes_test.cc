// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/settings/load.h"
#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace tranche::programs::testing;

std::vector<std::string> changes(const std::string& before, const std::string& after) {
  return changes_between(effective_values(*load_file(before)), effective_values(*load_file(after)));
}

TEST(ChangeList, NamesEachSettingWithItsOldAndItsNewValue) {
  EXPECT_THAT(changes("flags: {migStrategy: none}",
                      "flags: {migStrategy: mixed, plugin: {passDeviceSpecs: true}}"),
              ElementsAre("flags.migStrategy: none -> mixed",
                          "flags.plugin.passDeviceSpecs: false -> true"));
}

TEST(ChangeList, IsEmptyWhereOnlyTheTextDiffers) {
  EXPECT_THAT(changes("flags: {migStrategy: none}", "version: v1  # the same\n"), IsEmpty());
}

TEST(ChangeList, NamesRowsByTheirResourceSoThatANewRowChangesNoOther) {
  const std::string one = "tranche: {policies: [{resource: a.b/one, share: replicas, replicas: 2}";
  EXPECT_THAT(changes(one + "]}",
                      "tranche: {policies: [{resource: a.b/new, devices: [1]}, "
                      "{resource: a.b/one, share: replicas, replicas: 3}]}"),
              ElementsAre("tranche.policies[a.b/new].devices: added, [1]",
                          "tranche.policies[a.b/new].dialect: added, nvidia",
                          "tranche.policies[a.b/new].distinctGpus: added, false",
                          "tranche.policies[a.b/new].enforcement: added, auto",
                          "tranche.policies[a.b/new].failRequestsGreaterThanOne: added, false",
                          "tranche.policies[a.b/new].resource: added, a.b/new",
                          "tranche.policies[a.b/new].share: added, whole",
                          "tranche.policies[a.b/one].replicas: 2 -> 3"));
}

TEST(ChangeList, CountsRowsOfOneName) {
  const std::string rows =
      "sharing: {timeSlicing: {resources: [{name: gpu, devices: [0], replicas: 2}, "
      "{name: gpu, devices: [1], replicas: ";
  EXPECT_THAT(changes(rows + "3}]}}", rows + "4}]}}"),
              ElementsAre("sharing.timeSlicing.resources[nvidia.com/gpu #2].replicas: 3 -> 4"));
}

TEST(ChangeList, SaysWhatIsRemoved) {
  EXPECT_THAT(changes("resources: {gpus: [{pattern: '*T4*', name: t4}]}", "version: v1"),
              ElementsAre("resources.gpus[nvidia.com/t4].name: was nvidia.com/t4, removed",
                          "resources.gpus[nvidia.com/t4].pattern: was *T4*, removed"));
}

TEST(ChangeList, HasABoundedNumberOfLines) {
  EXPECT_THAT(changes_between({}, {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}, 2),
              ElementsAre("a: added, 1", "b: added, 2", "and 2 more"));
}

}  // namespace
}  // namespace tranche::programs
