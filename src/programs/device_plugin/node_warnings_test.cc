// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/node_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using tranche::programs::testing::load_file;
using tranche::programs::testing::load_flags;

TEST(NodeWarnings, HaveTheLineOfTheirRow) {
  const auto loaded = load_file(
      "resources:\n  gpus:\n  - {pattern: '*A100*', name: a100}\n  - {pattern: '*T4*', name: t4}\n"
      "sharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/a100, replicas: 2}\n"
      "    - {name: nvidia.com/mig-1g.5gb, replicas: 2}\n"
      "tranche:\n  excludeDevices: [9]\n  policies:\n  - {resource: a.b/x}\n"
      "  - {resource: a.b/x-2, devices: [7]}\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::vector<std::string> notes{
      "tranche.excludeDevices: no GPU has index 9; the entry excludes nothing",
      "tranche.policies: a.b/x-2: no GPU has index 7",
      "tranche.policies: a.b/x fits no device of this node",
      "resources.gpus: no GPU of this node has a model like '*T4*', so none is named nvidia.com/t4",
      "sharing.timeSlicing names nvidia.com/mig-1g.5gb, which this node does not have",
      "sharing.timeSlicing of nvidia.com/a100: no GPU has index 3",
      "nvidia.com/gpu has no usable share: why"};
  EXPECT_THAT(node_warnings(*loaded, notes),
              ElementsAre("config.yaml:11: " + notes[0], "config.yaml:14: " + notes[1],
                          "config.yaml:13: " + notes[2], "config.yaml:4: " + notes[3],
                          "config.yaml:9: " + notes[4], "config.yaml:8: " + notes[5], notes[6]));
}

TEST(NodeWarnings, HaveNoLineWhereTheFileDoesNotDecide) {
  const auto loaded = load_flags({"--exclude-devices=9"});
  const std::string note = "tranche.excludeDevices: no GPU has index 9; the entry excludes nothing";
  EXPECT_THAT(node_warnings(*loaded, {note}), ElementsAre(note));
}

TEST(NodeWarnings, LeaveOutANameThatTheFilesOwnCheckHasNamed) {
  const auto loaded =
      load_file("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpuu, replicas: 2}]}}\n");
  ASSERT_EQ(loaded->warnings.size(), 1U);
  EXPECT_THAT(
      node_warnings(*loaded,
                    {"sharing.timeSlicing names nvidia.com/gpuu, which this node does not have"}),
      IsEmpty());
}

}  // namespace
}  // namespace tranche::programs
