// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/mps_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace tranche::programs::testing;

MpsOptions options_of(const std::vector<std::string>& arguments) {
  const auto loaded = load_flags(arguments);
  EXPECT_TRUE(loaded) << problem_of(loaded);
  return loaded ? loaded->settings.mps : MpsOptions{};
}

TEST(MpsSettings, AreOurOwnDaemonsUnlessSomethingElseIsSaid) {
  EXPECT_EQ(options_of({}), MpsOptions{});
  EXPECT_EQ(options_of({"--mps-dir="}), MpsOptions{});
  EXPECT_EQ(options_of({}).daemons, MpsDaemons::kPerGpu);
}

TEST(MpsSettings, FollowFromThePipeOrTheRoot) {
  EXPECT_EQ(options_of({"--mps-pipe=/p"}),
            (MpsOptions{.daemons = MpsDaemons::kOutside, .pipe = "/p"}));
  EXPECT_EQ(options_of({"--mps-root=/r"}),
            (MpsOptions{.daemons = MpsDaemons::kNvidia, .nvidia_root = "/r"}));
  const auto loaded = load_flags({"--mps-pipe=/p"});
  EXPECT_EQ(find_setting(*loaded, "mps-daemons")->origin.text, "default (with --mps-pipe)");
  EXPECT_EQ(show(find_setting(*loaded, "mps-daemons")->value), "outside");
}

TEST(MpsSettings, TakeThePipeBeforeTheRootAndSaySo) {
  const auto loaded = load_flags({"--mps-pipe=/p", "--mps-root=/r"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings.mps, (MpsOptions{.daemons = MpsDaemons::kOutside, .pipe = "/p"}));
  EXPECT_THAT(loaded->notices, ElementsAre(HasSubstr("--mps-root=/r: without effect")));
}

TEST(MpsSettings, AreWhatTheFileSays) {
  const auto loaded =
      load_file("tranche:\n  mps: {daemons: per-node, directory: /run/m, sharedMemory: true}\n",
                {"--mps-root=/r"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(
      loaded->settings.mps,
      (MpsOptions{.daemons = MpsDaemons::kPerNode, .directory = "/run/m", .shared_memory = true}));
  EXPECT_THAT(loaded->notices, ElementsAre(HasSubstr("the MPS daemons are per-node")));
}

TEST(MpsSettings, NeedThePlaceOfExternalDaemons) {
  EXPECT_THAT(problem_of(load_flags({"--mps-daemons=outside"})),
              AllOf(StartsWith("--mps-daemons=outside: "), HasSubstr("give --mps-pipe")));
  EXPECT_THAT(
      problem_of(load_file("tranche: {mps: {daemons: nvidia}}\n")),
      AllOf(StartsWith("config.yaml:1: tranche.mps.daemons: "), HasSubstr("give --mps-root")));
  EXPECT_THAT(problem_of(load_flags({"--mps-daemons=per-gpu", "--mps-pipe=/p"})),
              AllOf(StartsWith("--mps-pipe=/p: "), HasSubstr("(--mps-daemons=per-gpu)")));
}

TEST(MpsSettings, AreGpusharesUsualPipeWithItsFlagAlone) {
  EXPECT_EQ(options_of({"--profile=gpushare", "-mps"}),
            (MpsOptions{.daemons = MpsDaemons::kOutside, .pipe = "/tmp/nvidia-mps"}));
  EXPECT_EQ(options_of({"--profile=gpushare", "-mps", "--mps-pipe=/p"}).pipe, "/p");
  EXPECT_EQ(options_of({"--profile=gpushare", "-mps", "--mps-daemons=per-gpu"}), MpsOptions{});
  EXPECT_EQ(options_of({"--profile=gpushare"}), MpsOptions{});
}

TEST(SharingMps, FillsTheSameRowsAndRefusesMoreThanOneByDefault) {
  const auto loaded = load_file(
      "sharing: {mps: {renameByDefault: true, resources: [{name: gpu, devices: 2, replicas: "
      "1}]}}\n");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  const SharingPolicy& sharing = loaded->settings.sharing;
  EXPECT_TRUE(sharing.replicas_use_mps);
  EXPECT_TRUE(sharing.fail_requests_greater_than_one);
  EXPECT_THAT(sharing.replications,
              ElementsAre(Replication{.resource = ResourceName("nvidia.com/gpu"),
                                      .rename = ResourceName("nvidia.com/gpu.shared"),
                                      .devices = FirstDevices{2},
                                      .replicas = 1}));
  EXPECT_EQ(loaded->settings.mps.daemons, MpsDaemons::kPerGpu);
}

TEST(SharingMps, CanAllowMoreThanOne) {
  const auto loaded = load_file(
      "sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, replicas: "
      "4}]}}\n",
      {"--mps-root=/run/nvidia/mps"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_FALSE(loaded->settings.sharing.fail_requests_greater_than_one);
  EXPECT_EQ(loaded->settings.mps.daemons, MpsDaemons::kNvidia);
  EXPECT_THAT(loaded->notices, IsEmpty());
}

TEST(SharingMps, WinsOverTimeSlicingAndSaysSo) {
  const auto loaded = load_file(
      "sharing:\n"
      "  timeSlicing: {resources: [{name: gpu, replicas: 2}]}\n"
      "  mps: {resources: [{name: gpu, replicas: 4}]}\n");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings.sharing.replications.front().replicas, 4U);
  EXPECT_TRUE(loaded->settings.sharing.replicas_use_mps);
  EXPECT_THAT(loaded->notices,
              ElementsAre(StartsWith("config.yaml:2: sharing.timeSlicing: without effect: ")));
}

TEST(SharingMps, IsHeldToTheSameRulesAsTimeSlicing) {
  EXPECT_THAT(problem_of(load_file("sharing: {mps: {}}\n")),
              StartsWith("config.yaml:1: sharing.mps: no resources specified"));
  EXPECT_THAT(problem_of(load_file("sharing: {mps: {resources: [{name: gpu, replicas: 0}]}}\n")),
              StartsWith("config.yaml:1: sharing.mps.resources[0].replicas: number of replicas"));
  EXPECT_THAT(problem_of(load_file("sharing: {mps: {resources: [{name: gpu, replicas: 2}, {name: "
                                   "gpu, replicas: 3}]}}\n")),
              HasSubstr("sharing.mps.resources[1]: selects devices of nvidia.com/gpu"));
  const auto absent = load_file("sharing: {mps: }\n");
  ASSERT_TRUE(absent) << problem_of(absent);
  EXPECT_FALSE(absent->settings.sharing.replicas_use_mps);
}

}  // namespace
}  // namespace tranche::programs
