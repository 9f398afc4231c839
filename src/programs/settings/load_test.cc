// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "os/testing/temp_dir.h"
#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace tranche::programs::testing;

TEST(LoadSettings, MountsTheVulkanFolderOfTheHost) {
  const auto both = load_flags({"-host-vulkan-icd-path=/a", "-container-vulkan-icd-path=/b"});
  ASSERT_TRUE(both) << problem_of(both);
  EXPECT_EQ(both->settings.grant.vulkan_mount, (DriverMount{"/a", "/b"}));
  EXPECT_EQ(problem_of(load_flags({"-container-vulkan-icd-path=/b"})),
            "-container-vulkan-icd-path=/b: is given without --host-vulkan-icd-path, the folder on "
            "the host that it is for; give both");
}

TEST(LoadSettings, IgnoresAnXidThatIsNoNumberWithAWarning) {
  const auto loaded = load_variables({{"DP_DISABLE_HEALTHCHECKS", "48,fourty-nine"}});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_FALSE(loaded->settings.health.xids.counts(48));
  EXPECT_THAT(loaded->warnings,
              ElementsAre("DP_DISABLE_HEALTHCHECKS: 'fourty-nine' is ignored: it is no XID, which "
                          "is a number, nor 'all' nor 'xids'"));
}

TEST(LoadSettings, LetsTheLastOfRepeatedFlagsWin) {
  const auto loaded = load_flags({"--mig-strategy=single", "--mig-strategy", "mixed"});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->settings.sharing.mig, MigStrategy::kMixed);
  EXPECT_EQ(find_setting(*loaded, "mig-strategy")->origin.text, "--mig-strategy mixed");
}

TEST(LoadSettings, ChecksEveryOneOfRepeatedFlags) {
  EXPECT_THAT(problem_of(load_flags({"--gds-enabled=maybe", "--gds-enabled=true"})),
              HasSubstr("--gds-enabled=maybe"));
}

TEST(LoadSettings, AddsUpRepeatedLists) {
  const auto loaded = load_flags(
      {"--device-list-strategy=envvar", "--device-list-strategy", "cdi-cri,volume-mounts"});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->settings.grant.list,
            (DeviceListStrategy{.envvar = true, .volume_mounts = true, .cdi_cri = true}));
  EXPECT_EQ(find_setting(*loaded, "device-list-strategy")->origin.text,
            "--device-list-strategy=envvar --device-list-strategy cdi-cri,volume-mounts");
}

TEST(LoadSettings, ReplacesAListOfAWeakerSourceAndDoesNotAddToIt) {
  const auto loaded = load_settings(
      Sources{{"--device-list-strategy=cdi-cri"}, {{"DEVICE_LIST_STRATEGY", "envvar"}}}, {});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->settings.grant.list, (DeviceListStrategy{.cdi_cri = true}));
}

// As in NVIDIA's plugin and its flag library.
TEST(EmptyVariable, MakesABooleanFalse) {
  const auto loaded = load_variables({{"FAIL_ON_INIT_ERROR", ""}});
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->settings.fail_on_init_error);
  EXPECT_EQ(find_setting(*loaded, "fail-on-init-error")->origin.text, "FAIL_ON_INIT_ERROR");
}

TEST(EmptyVariable, IsAnEmptyText) {
  EXPECT_EQ(load_variables({{"KUBELET_SOCKET", ""}})->settings.kubelet.socket, "");
  EXPECT_EQ(load_variables({{"CDI_ANNOTATION_PREFIX", ""}})->settings.grant.cdi_annotation_prefix,
            "");
  EXPECT_THAT(problem_of(load_variables({{"MIG_STRATEGY", ""}})),
              StartsWith("MIG_STRATEGY: unknown MIG strategy: "));
}

TEST(EmptyVariable, OverridesTheFile) {
  const auto loaded = load_file("flags: {nvidiaDevRoot: /x, failOnInitError: true}\n", {},
                                {{"NVIDIA_DEV_ROOT", ""}, {"FAIL_ON_INIT_ERROR", ""}});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->settings.grant.dev_root, "/");
  EXPECT_FALSE(loaded->settings.fail_on_init_error);
}

TEST(EmptyVariable, IsAListWithOneEmptyItem) {
  EXPECT_THAT(problem_of(load_variables({{"DEVICE_LIST_STRATEGY", ""}})),
              StartsWith("DEVICE_LIST_STRATEGY: invalid --device-list-strategy option: invalid "
                         "strategy: "));
  EXPECT_THAT(problem_of(load_variables({{"IMEX_CHANNEL_IDS", ""}})),
              StartsWith("IMEX_CHANNEL_IDS: expected whole numbers"));
  EXPECT_TRUE(load_variables({{"CDI_FEATURE_FLAGS", ""}, {"CDI_DISABLE_HOOKS", ""}}));
  EXPECT_EQ(load_file("tranche: {excludeDevices: [0]}\n", {}, {{"EXCLUDE_DEVICES", ""}})
                ->settings.sharing.excluded.size(),
            0U);
}

TEST(EmptyVariable, DoesNotSetADuration) {
  EXPECT_EQ(load_variables({{"HEALTH_CHECK_INTERVAL", ""}})->settings, default_settings());
}

TEST(EmptyPath, StandsForItsDefault) {
  const auto loaded = load_variables({{"NVIDIA_DRIVER_ROOT", ""},
                                      {"NVIDIA_DEV_ROOT", ""},
                                      {"NVIDIA_CDI_HOOK_PATH", ""},
                                      {"CDI_DIR", ""},
                                      {"HOST_ROOT", ""},
                                      {"STATE_DIR", ""},
                                      {"CONFIG_FILE", ""},
                                      {"MPS_ROOT", ""},
                                      {"HOST_PATH", ""},
                                      {"CONTAINER_PATH", ""}});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings, default_settings());
}

TEST(EmptyPath, StandsForTheRootWhereTheDriverIsMounted) {
  EXPECT_EQ(load_variables({{"DRIVER_ROOT_CTR_PATH", ""}})->settings.driver.container_root, "/");
}

TEST(DevRoot, FollowsTheDriverRootUnlessGiven) {
  EXPECT_EQ(load_flags({"--driver-root=/d"})->settings.grant.dev_root, "/d");
  EXPECT_EQ(load_flags({"--driver-root=/d", "--dev-root=/e"})->settings.grant.dev_root, "/e");
  const auto loaded = load_flags({"--driver-root=/d"});
  EXPECT_EQ(find_setting(*loaded, "dev-root")->origin.text, "default (the driver root)");
}

TEST(StateDir, LiesBesideTheKubeletSocketUnlessGiven) {
  EXPECT_EQ(load_flags({"--kubelet-socket=/k.sock"})->settings.state_dir, "/tranche");
  EXPECT_EQ(load_flags({"--kubelet-socket=/a/b/k.sock"})->settings.state_dir, "/a/b/tranche");
  EXPECT_EQ(load_flags({"--kubelet-socket="})->settings.state_dir,
            "/var/lib/kubelet/device-plugins/tranche");
  EXPECT_EQ(load_flags({"--state-dir=/s"})->settings.state_dir, "/s");
}

TEST(KubeletSocket, FitsIntoAnAddress) {
  EXPECT_TRUE(load_flags({"--kubelet-socket=/" + std::string(106, 'k')}));
  EXPECT_THAT(problem_of(load_flags({"--kubelet-socket=/" + std::string(107, 'k')})),
              HasSubstr("107 bytes"));
}

TEST(DriverMount, NeedsAHostPath) {
  const auto both = load_flags({"-host-path=/a", "-container-path=/b"});
  EXPECT_EQ(both->settings.grant.driver_mount, (DriverMount{"/a", "/b"}));
  EXPECT_EQ(
      load_variables({{"HOST_PATH", "/a"}, {"CONTAINER_PATH", "/b"}})->settings.grant.driver_mount,
      (DriverMount{"/a", "/b"}));
  EXPECT_EQ(load_file("tranche: {hostPath: /a, containerPath: /b}\n")->settings.grant.driver_mount,
            (DriverMount{"/a", "/b"}));
  EXPECT_EQ(load_flags({})->settings.grant.driver_mount, std::nullopt);
  EXPECT_THAT(problem_of(load_flags({"-container-path=/b"})),
              AllOf(StartsWith("-container-path=/b: "), HasSubstr("--host-path")));
  EXPECT_THAT(problem_of(load_file("tranche: {containerPath: /b}\n")),
              StartsWith("config.yaml:1: tranche.containerPath: "));
}

TEST(Discovery, RefusesTegraAndWslInEffectOnly) {
  for (const std::string word : {"tegra", "wsl"}) {
    const std::string file = "flags: {deviceDiscoveryStrategy: " + word + "}\n";
    EXPECT_THAT(problem_of(load_flags({"--device-discovery-strategy=" + word})),
                AllOf(HasSubstr("does not serve"), HasSubstr("use auto or nvml")));
    EXPECT_THAT(problem_of(load_file(file)),
                StartsWith("config.yaml:1: flags.deviceDiscoveryStrategy: this version"));
    EXPECT_TRUE(load_file(file, {"--device-discovery-strategy=nvml"}));
  }
  EXPECT_THAT(problem_of(load_flags({"--device-discovery-strategy=vfio"})),
              HasSubstr("invalid --device-discovery-strategy option vfio (allowed: auto, nvml)"));
}

TEST(Verbosity, LogsForFindingFaultsFromFourOn) {
  EXPECT_EQ(load_flags({"-v=3"})->settings.log_level, LogLevel::kInfo);
  EXPECT_EQ(load_flags({"--v", "4"})->settings.log_level, LogLevel::kDebug);
  EXPECT_EQ(load_flags({"-logtostderr", "--v=5"})->settings.log_level, LogLevel::kDebug);
}

TEST(Imex, TakesNoneOrZero) {
  EXPECT_EQ(load_file("imex: {channelIDs: []}\n")->settings.grant.imex_channels.size(), 0U);
  EXPECT_EQ(load_file("imex: {channelIDs: [0]}\n")->settings.grant.imex_channels,
            std::vector<unsigned>{0});
  for (const char* ids : {"[1]", "[0, 0]", "[0, 1]", "[-1]", "[99999999999999]"}) {
    EXPECT_THAT(problem_of(load_file(std::string("imex: {channelIDs: ") + ids + "}\n")),
                HasSubstr("channelIDs must be [] or [0]; found ["))
        << ids;
  }
  EXPECT_THAT(problem_of(load_flags({"--imex-channel-ids=0,1"})), HasSubstr("found [0 1]"));
}

// NVIDIA's messages, followed by ours.
TEST(Messages, KeepNvidiasWords) {
  EXPECT_THAT(problem_of(load_flags({"--device-list-strategy=envvar,bogus"})),
              HasSubstr("invalid --device-list-strategy option: invalid strategy: bogus (allowed: "
                        "envvar, volume-mounts, cdi-annotations, cdi-cri)"));
  EXPECT_THAT(problem_of(load_flags({"--device-id-strategy=bogus"})),
              HasSubstr("invalid --device-id-strategy option: bogus (allowed: uuid, index)"));
  EXPECT_THAT(problem_of(load_flags({"--shared-devices-allocation-policy=pack"})),
              HasSubstr("invalid --shared-devices-allocation-policy option: pack (allowed: "
                        "distributed, packed; did you mean 'packed'?)"));
  EXPECT_THAT(problem_of(load_flags({"--mig-strategy=bogus"})),
              HasSubstr("unknown MIG strategy: bogus (allowed: none, single, mixed)"));
  EXPECT_THAT(problem_of(load_file("version: v2\n")),
              HasSubstr("config.yaml:1: version: unknown version: v2"));
}

TEST(LoadSettings, TellsAllProblemsAtOnceOneOnEachLine) {
  const std::string problem = problem_of(
      load_file("flgs: {}\nflags: {migStrategy: mixd}\n", {"--gds-enabled=x", "--nope", "word"}));
  EXPECT_THAT(split(problem, '\n'),
              ElementsAre(StartsWith("--nope: "), StartsWith("unexpected argument 'word'"),
                          StartsWith("--gds-enabled=x: "), StartsWith("config.yaml:1: "),
                          StartsWith("config.yaml:2: flags.migStrategy: ")));
}

TEST(LoadSettings, HandsPositionalsOnWhenTheyAreAllowed) {
  const Sources sources{{"GPU-1", "--v=4", "--", "--x"}, {}, true};
  const auto loaded = load_settings(sources, std::nullopt);
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->positionals, ElementsAre("GPU-1", "--x"));
  EXPECT_EQ(loaded->settings.log_level, LogLevel::kDebug);
}

TEST(LoadSettings, AnswersHelpAndVersionWhateverElseIsWrong) {
  const auto help = load_flags({"--nope", "-h"});
  ASSERT_TRUE(help);
  EXPECT_TRUE(help->wants_help);
  EXPECT_FALSE(help->wants_version);
  EXPECT_TRUE(load_settings(Sources{{"--version", "--config-file=/nowhere"}, {}})->wants_version);
}

TEST(Version, IsV1OrNotGiven) {
  for (const char* file :
       {"", "{}", "version:\n", "version: ''\n", "version: v1\n", "{\"version\": \"v1\"}",
        "flags: {}\n", "flags: {gfd: {}, plugin: {}}\n"}) {
    const auto loaded = load_file(file);
    ASSERT_TRUE(loaded) << file << ": " << problem_of(loaded);
    EXPECT_EQ(loaded->settings, default_settings()) << file;
  }
  for (const char* version : {"v2", "V1", "v1beta1"}) {
    EXPECT_THAT(problem_of(load_file(std::string("version: ") + version + "\n")),
                HasSubstr(std::string("unknown version: ") + version));
  }
}

class ConfigFile : public ::testing::Test {
 protected:
  std::string write(const std::string& content) {
    const std::string path = directory_.path("c.yaml");
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  TempDir directory_;
};

TEST_F(ConfigFile, IsReadFromTheFlagOrTheVariable) {
  const std::string path = write("flags: {migStrategy: mixed}\n");
  const auto by_flag = load_settings(Sources{{"--config-file=" + path}, {}});
  ASSERT_TRUE(by_flag) << problem_of(by_flag);
  EXPECT_EQ(by_flag->settings.sharing.mig, MigStrategy::kMixed);
  EXPECT_EQ(by_flag->settings.config_file, path);
  EXPECT_EQ(find_setting(*by_flag, "mig-strategy")->origin.text, path + ":1");
  const auto by_variable = load_settings(Sources{{}, {{"CONFIG_FILE", path}}});
  ASSERT_TRUE(by_variable);
  EXPECT_EQ(by_variable->settings, by_flag->settings);
}

TEST_F(ConfigFile, IsReadAgainByTheNextCall) {
  const Sources sources{{"--config-file=" + write("flags: {migStrategy: mixed}\n")}, {}};
  EXPECT_EQ(load_settings(sources)->settings.sharing.mig, MigStrategy::kMixed);
  write("flags: {migStrategy: single}\n");
  EXPECT_EQ(load_settings(sources)->settings.sharing.mig, MigStrategy::kSingle);
  write("flags: {migStrategy: nope}\n");
  EXPECT_FALSE(load_settings(sources));
}

TEST_F(ConfigFile, MayBeEmpty) {
  EXPECT_TRUE(load_settings(Sources{{"--config-file=" + write("")}, {}}));
  EXPECT_TRUE(load_settings(Sources{{"--config-file=/dev/null"}, {}}));
}

TEST_F(ConfigFile, IsAnErrorWhenItCannotBeRead) {
  const auto missing = load_settings(Sources{{"--config-file=" + directory_.path("no")}, {}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr(directory_.path("no")));
  EXPECT_FALSE(load_settings(Sources{{"--config-file=" + directory_.path()}, {}}));
  const std::string large = write(std::string(kMostDocumentBytes + 1, '\n'));
  EXPECT_THAT(problem_of(load_settings(Sources{{"--config-file=" + large}, {}})),
              HasSubstr("larger"));
}

}  // namespace
}  // namespace tranche::programs
