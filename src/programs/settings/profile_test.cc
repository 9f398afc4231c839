// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/settings/testing/loading.h"
#include "programs/settings/testing/round_trip.h"

namespace tranche::programs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace tranche::programs::testing;

constexpr const char* kDeepomatic = "/usr/bin/deepomatic-shared-gpu-gcp-k8s-device-plugin";
const DriverMount kGcpMount{"/home/kubernetes/bin/nvidia", "/usr/local/nvidia"};

ResourcePolicy shared_gpu(unsigned replicas, Dialect dialect) {
  return {.resource = ResourceName("deepomatic.com/shared-gpu"),
          .terms = {.form = ShareForm::kReplicas,
                    .placement = SharePlacement::kSpread,
                    .dialect = dialect},
          .replicas = replicas};
}

ResourcePolicy gpu_memory(std::optional<std::uint64_t> unit) {
  return {.resource = ResourceName("aliyun.com/gpu-mem"),
          .terms = {.form = ShareForm::kMemory,
                    .placement = SharePlacement::kPack,
                    .dialect = Dialect::kGpushare},
          .unit = unit};
}

TEST(ProfileOfProgram, KnowsTheProgramsOfTheOtherSystems) {
  EXPECT_EQ(profile_of_program(kDeepomatic), "deepomatic");
  EXPECT_EQ(profile_of_program("/usr/bin/nvidia-gpu-device-plugin"), "gcp");
  EXPECT_EQ(profile_of_program("gpushare-device-plugin-v2"), "gpushare");
  EXPECT_EQ(profile_of_program("nvidia-device-plugin"), "nvidia");
  EXPECT_EQ(profile_of_program("/usr/bin/tranche-device-plugin"), std::nullopt);
  EXPECT_EQ(profile_of_program("/gpushare-device-plugin-v2/x"), std::nullopt);
  EXPECT_EQ(profile_of_program(""), std::nullopt);
}

TEST(Profile, FollowsFromTheProgramsNameUnlessItIsGiven) {
  const auto named = load_as(kDeepomatic);
  ASSERT_TRUE(named) << problem_of(named);
  EXPECT_EQ(show(find_setting(*named, "profile")->value), "deepomatic");
  EXPECT_EQ(find_setting(*named, "profile")->origin.text, "default (the program's name)");
  const auto given = load_as(kDeepomatic, {"--profile=nvidia"});
  ASSERT_TRUE(given) << problem_of(given);
  EXPECT_EQ(given->settings, default_settings());
  const auto by_variable = load_as(kDeepomatic, {}, {{"PROFILE", "nvidia"}});
  EXPECT_EQ(by_variable->settings, default_settings());
  EXPECT_EQ(load_as("nvidia-device-plugin")->settings, default_settings());
}

TEST(DeepomaticProfile, OffersEveryGpuAHundredTimes) {
  const auto loaded = load_as(kDeepomatic, {"-logtostderr"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  const Settings& settings = loaded->settings;
  EXPECT_THAT(settings.sharing.policies, ElementsAre(shared_gpu(100, Dialect::kDeepomatic)));
  EXPECT_EQ(settings.grant.driver_mount, kGcpMount);
  EXPECT_TRUE(settings.grant.pass_device_specs);
  EXPECT_FALSE(settings.fail_on_init_error);
  EXPECT_EQ(settings.kubelet.socket, "/device-plugin/kubelet.sock");
  EXPECT_EQ(settings.kubelet.checkpoint, "/device-plugin/kubelet_internal_checkpoint");
  EXPECT_EQ(settings.state_dir, "/device-plugin/tranche");
  EXPECT_THAT(loaded->notices, IsEmpty());
}

TEST(DeepomaticProfile, GivesWayToWhatIsGiven) {
  const auto loaded =
      load_as(kDeepomatic, {"-gpu-duplication-factor", "8", "-host-path=/var/lib/nvidia/lib64",
                            "-container-path=/usr/local/nvidia/lib64", "-plugin-directory=/p",
                            "--pass-device-specs=false", "--fail-on-init-error"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->settings.sharing.policies, ElementsAre(shared_gpu(8, Dialect::kDeepomatic)));
  EXPECT_EQ(loaded->settings.grant.driver_mount,
            (DriverMount{"/var/lib/nvidia/lib64", "/usr/local/nvidia/lib64"}));
  EXPECT_FALSE(loaded->settings.grant.pass_device_specs);
  EXPECT_TRUE(loaded->settings.fail_on_init_error);
  EXPECT_EQ(loaded->settings.kubelet.socket, "/p/kubelet.sock");
  const auto socket = load_as(kDeepomatic, {"--kubelet-socket=/k/kubelet.sock", "-host-path="});
  ASSERT_TRUE(socket) << problem_of(socket);
  EXPECT_EQ(socket->settings.kubelet.socket, "/k/kubelet.sock");
  EXPECT_EQ(socket->settings.grant.driver_mount, std::nullopt);
}

TEST(DeepomaticProfile, GoesByNvidiasRuntimeWithTheSecondPluginsVariable) {
  const auto loaded = load_as(kDeepomatic, {}, {{"DP_NUMBER_CONTAINERS_PER_GPU", "50"}});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->settings.sharing.policies, ElementsAre(shared_gpu(50, Dialect::kNvidia)));
  EXPECT_EQ(loaded->settings.grant.driver_mount, std::nullopt);
  EXPECT_FALSE(loaded->settings.grant.pass_device_specs);
  EXPECT_EQ(loaded->settings.kubelet, KubeletOptions{});
  EXPECT_FALSE(loaded->settings.fail_on_init_error);
}

TEST(DuplicationFactor, AsksForSharedGpusWithoutAProfile) {
  const auto by_flag = load_flags({"-gpu-duplication-factor=10"});
  ASSERT_TRUE(by_flag) << problem_of(by_flag);
  EXPECT_THAT(by_flag->settings.sharing.policies, ElementsAre(shared_gpu(10, Dialect::kNvidia)));
  EXPECT_EQ(by_flag->settings.kubelet, KubeletOptions{});
  EXPECT_EQ(by_flag->provenance.back().setting, "tranche.policies[0]");
  EXPECT_EQ(by_flag->provenance.back().origin.text, "-gpu-duplication-factor=10");
  const auto with_files = load_flags({"-gpu-duplication-factor=10", "-host-path=/d"});
  EXPECT_THAT(with_files->settings.sharing.policies,
              ElementsAre(shared_gpu(10, Dialect::kDeepomatic)));
}

TEST(DuplicationFactor, HasBounds) {
  for (const char* factor : {"0", "1000001"}) {
    EXPECT_THAT(problem_of(load_flags({"-gpu-duplication-factor", factor})),
                AllOf(StartsWith("-gpu-duplication-factor"), HasSubstr("from 1 to 1000000")));
  }
  EXPECT_THAT(problem_of(load_variables({{"DP_NUMBER_CONTAINERS_PER_GPU", "0"}})),
              StartsWith("DP_NUMBER_CONTAINERS_PER_GPU: "));
}

TEST(GcpProfile, OffersWholeGpusWithoutNvidiasRuntime) {
  const auto loaded =
      load_as("/usr/bin/nvidia-gpu-device-plugin",
              {"-logtostderr", "--enable-container-gpu-metrics", "--enable-health-monitoring"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  ResourcePolicy whole{.resource = ResourceName("nvidia.com/gpu")};
  whole.terms.dialect = Dialect::kGcp;
  EXPECT_THAT(loaded->settings.sharing.policies, ElementsAre(whole));
  EXPECT_EQ(loaded->settings.grant.driver_mount, kGcpMount);
  EXPECT_EQ(loaded->settings.kubelet.socket, "/device-plugin/kubelet.sock");
  EXPECT_FALSE(loaded->settings.fail_on_init_error);
}

TEST(GcpProfile, TakesTheFlagsAndTheVariableOfGooglesPlugin) {
  const char* program = "/usr/bin/nvidia-gpu-device-plugin";
  const auto usual = load_as(program);
  ASSERT_TRUE(usual) << problem_of(usual);
  EXPECT_EQ(usual->settings.grant.vulkan_mount,
            (DriverMount{"/home/kubernetes/bin/nvidia/vulkan/icd.d", "/etc/vulkan/icd.d"}));
  EXPECT_EQ(usual->settings.instance_lock, "");
  const auto loaded = load_as(program, {"-container-vulkan-icd-path=/icd", "-enable-flock-wait"},
                              {{"XID_CONFIG", "61, 31"}, {"NODE_NAME", "n"}});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings.grant.vulkan_mount->container_path, "/icd");
  EXPECT_EQ(loaded->settings.instance_lock, "/device-plugin/tpu-device-plugin.lock");
  EXPECT_TRUE(loaded->settings.health.xids.counts(31));
  EXPECT_THAT(loaded->notices, IsEmpty());
  EXPECT_EQ(load_as(program, {"-host-vulkan-icd-path="})->settings.grant.vulkan_mount,
            std::nullopt);
}

TEST(GcpProfile, HasGooglesXidsToItself) {
  const auto loaded = load_variables({{"XID_CONFIG", "31"}});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_FALSE(loaded->settings.health.xids.counts(31));
  EXPECT_THAT(loaded->notices,
              ElementsAre("XID_CONFIG: without effect: a variable of Google's plugin, for "
                          "--profile=gcp; DP_ENABLE_HEALTHCHECKS does the same"));
}

TEST(GpushareProfile, CountsMemory) {
  const auto loaded =
      load_as("gpushare-device-plugin-v2", {"-logtostderr", "--v=5", "--memory-unit=GiB"},
              {{"KUBECONFIG", "/k"}, {"NODE_NAME", "n"}});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->settings.sharing.policies, ElementsAre(gpu_memory(1ULL << 30U)));
  EXPECT_EQ(loaded->settings.kubelet, KubeletOptions{});
  EXPECT_EQ(loaded->settings.grant.driver_mount, std::nullopt);
  EXPECT_EQ(loaded->settings.mps, MpsOptions{});
  EXPECT_THAT(loaded->notices, IsEmpty());
}

TEST(GpushareProfile, TakesItsUnitFromTheFlag) {
  const auto unit_of = [](const std::string& text) {
    const auto loaded = load_flags({"--profile=gpushare", "--memory-unit=" + text});
    EXPECT_TRUE(loaded) << problem_of(loaded);
    return loaded->settings.sharing.policies.front().unit;
  };
  EXPECT_EQ(unit_of("MiB"), 1U << 20U);
  EXPECT_EQ(unit_of("256MiB"), 256U << 20U);
  EXPECT_EQ(unit_of("auto"), std::nullopt);
  EXPECT_THAT(problem_of(load_flags({"--memory-unit=bytes"})),
              StartsWith("--memory-unit=bytes: expected a size with its unit"));
}

TEST(GpushareProfile, GoesThroughMpsWithThePipeAloneOrTheFlagAlone) {
  ResourcePolicy held = gpu_memory(1ULL << 30U);
  held.terms.demanded = Enforcement::kMps;
  const auto by_pipe = load_flags({"--profile=gpushare", "--mps-pipe=/root/nvidia-mps"});
  ASSERT_TRUE(by_pipe) << problem_of(by_pipe);
  EXPECT_THAT(by_pipe->settings.sharing.policies, ElementsAre(held));
  EXPECT_EQ(by_pipe->settings.mps.pipe, "/root/nvidia-mps");
  const auto by_flag = load_flags({"--profile=gpushare", "-mps"});
  ASSERT_TRUE(by_flag) << problem_of(by_flag);
  EXPECT_THAT(by_flag->settings.sharing.policies, ElementsAre(held));
  EXPECT_EQ(by_flag->settings.mps.pipe, "/tmp/nvidia-mps");
}

TEST(Profile, IsReplacedByTheFilesPolicies) {
  const auto loaded = load_file("tranche: {profile: deepomatic, policies: [{resource: mine}]}\n",
                                {"-gpu-duplication-factor=3", "--memory-unit=MiB", "--mps"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->settings.sharing.policies,
              ElementsAre(ResourcePolicy{.resource = ResourceName("nvidia.com/mine")}));
  EXPECT_EQ(loaded->settings.grant.driver_mount, kGcpMount);
  EXPECT_THAT(loaded->notices,
              ElementsAre(HasSubstr("-gpu-duplication-factor=3: without effect: tranche.policies"),
                          HasSubstr("--memory-unit=MiB: without effect"),
                          HasSubstr("--mps: without effect")));
}

TEST(Profile, SaysWhatItHasNoUseFor) {
  const auto gpushare = load_flags({"--profile=gpushare", "-gpu-duplication-factor=3"});
  ASSERT_TRUE(gpushare) << problem_of(gpushare);
  EXPECT_THAT(gpushare->notices, ElementsAre(HasSubstr("the profile gpushare does not use it")));
  const auto nvidia = load_flags({"--memory-unit=MiB", "--mps"});
  ASSERT_TRUE(nvidia) << problem_of(nvidia);
  EXPECT_THAT(nvidia->notices, ElementsAre(HasSubstr("--memory-unit=MiB: without effect"),
                                           HasSubstr("--mps: without effect")));
}

TEST(Profile, DoesNotOfferUnderANameOfReplicas) {
  const auto loaded = load_file(
      "tranche: {profile: gcp}\n"
      "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}\n");
  EXPECT_THAT(problem_of(loaded),
              AllOf(StartsWith("config.yaml:1: tranche.profile: the profile gcp offers "
                               "nvidia.com/gpu, and sharing.timeSlicing does too")));
}

TEST(Profile, LoadsAgainAsTheSame) {
  const std::vector<Sources> all = {
      {.program = kDeepomatic},
      {.environment = {{"DP_NUMBER_CONTAINERS_PER_GPU", "9"}}, .program = kDeepomatic},
      {.arguments = {"-gpu-duplication-factor=10", "--mps"}},
      {.arguments = {"-host-path=", "--kubelet-socket=/k"}, .program = kDeepomatic},
      {.program = "nvidia-gpu-device-plugin"},
      {.arguments = {"--memory-unit=auto", "--mps"}, .program = "gpushare-device-plugin-v2"},
      {.arguments = {"--mps-pipe=/p"},
       .environment = {{"MPS_ROOT", "/r"}, {"PROFILE", "gpushare"}}},
  };
  for (const Sources& sources : all) {
    EXPECT_EQ(round_trip_problem({sources, {"c.yaml", ""}}), std::nullopt);
  }
}

TEST(Profile, IsTheSameFromItsPrintedFileAlone) {
  for (const auto& [program, variables] :
       std::vector<std::pair<std::string, std::map<std::string, std::string>>>{
           {kDeepomatic, {}},
           {"nvidia-gpu-device-plugin", {}},
           {"gpushare-device-plugin-v2", {{"MPS", "true"}}}}) {
    const auto loaded = load_as(program, {}, variables);
    ASSERT_TRUE(loaded) << problem_of(loaded);
    const auto again = load_file(effective_yaml(*loaded));
    ASSERT_TRUE(again) << problem_of(again);
    EXPECT_EQ(again->settings, loaded->settings) << program;
  }
}

TEST(NestedHostProfile, OffersAllThatNvidiasDoesToPodsThatAreNodes) {
  const auto loaded = load_flags({"--profile=nested-host", "--mig-strategy=mixed"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->settings.sharing.policies, IsEmpty());
  EXPECT_EQ(loaded->settings.sharing.usual_dialect, Dialect::kNestedHost);
  EXPECT_EQ(loaded->settings.sharing.usual_exposure, Exposure::kEnvvar);
  EXPECT_TRUE(loaded->settings.fail_on_init_error);
  EXPECT_EQ(load_flags({"--profile=nested-host", "--nested-exposure=all"})
                ->settings.sharing.usual_exposure,
            Exposure::kAll);
}

TEST(NestedHostProfile, HandsOffReplicasToo) {
  const auto loaded = load_flags(
      {"--profile=nested-host", "--gpu-duplication-factor=4", "--nested-exposure=granted"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  ResourcePolicy shared = shared_gpu(4, Dialect::kNestedHost);
  shared.terms.exposure = Exposure::kGranted;
  EXPECT_THAT(loaded->settings.sharing.policies, ElementsAre(shared));
}

TEST(NestedExposure, IsReportedWhereItHasNoEffect) {
  EXPECT_THAT(load_flags({"--nested-exposure=all"})->notices,
              ElementsAre(AllOf(HasSubstr("nested-exposure"), HasSubstr("without effect"))));
}

TEST(NestedGuestProfile, OffersWhatTheHostGrantedAndWaitsForIt) {
  const auto loaded = load_flags({"--profile=nested-guest"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  Settings expected = default_settings();
  expected.nested.guest = true;
  expected.fail_on_init_error = false;
  EXPECT_EQ(loaded->settings, expected);
}

TEST(NestedGuest, GoesWithEveryOtherProfile) {
  for (const char* profile : {"nvidia", "deepomatic", "gcp", "gpushare", "nested-host"}) {
    const std::string flag = std::string("--profile=") + profile;
    const auto alone = load_flags({flag});
    const auto nested = load_flags({flag, "--nested-guest"});
    ASSERT_TRUE(alone && nested) << problem_of(nested);
    Settings expected = alone->settings;
    expected.nested.guest = true;
    EXPECT_EQ(nested->settings, expected) << profile;
  }
}

}  // namespace
}  // namespace tranche::programs
