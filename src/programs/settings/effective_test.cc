// SPDX-License-Identifier: Apache-2.0
#include "os/settings/effective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "os/files.h"
#include "programs/settings/testing/loading.h"
#include "programs/settings/testing/round_trip.h"

namespace tranche::programs {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace tranche::programs::testing;

constexpr const char* kFull =
    "version: v1\n"
    "flags:\n"
    "  migStrategy: mixed\n"
    "  nvidiaDriverRoot: /run/nvidia/driver\n"
    "  plugin: {deviceListStrategy: [envvar, cdi-cri], passDeviceSpecs: yes}\n"
    "resources:\n"
    "  gpus:\n"
    "  - {pattern: '*A100*', name: gpu-a100}\n"
    "  mig:\n"
    "  - {pattern: '1g.*', name: \"small\"}\n"
    "sharing:\n"
    "  timeSlicing:\n"
    "    renameByDefault: true\n"
    "    failRequestsGreaterThanOne: true\n"
    "    resources:\n"
    "    - {name: gpu-a100, devices: [0, '0:1', GPU-b1028956-cfa2-0990-bf4a-5da9abb51763], "
    "replicas: 4}\n"
    "    - {name: gpu, devices: 3, replicas: 1}\n"
    "    - {name: small, rename: example.com/tiny, replicas: 10}\n"
    "imex: {channelIDs: [0], required: true}\n"
    "tranche:\n"
    "  excludeDevices: [0, '0000:07:00.0', '*\"T4\\*']\n"
    "  hostPath: /home/nv idia\n"
    "  healthCheckInterval: 1m\n"
    "  logFormat: json\n";

TEST(EffectiveYaml, SaysWhereEachValueCameFrom) {
  const auto loaded = load_settings(Sources{{"--gds-enabled", "-v", "4"}, {{"MOFED_ENABLED", "1"}}},
                                    ConfigText{"c.yaml", "flags: {migStrategy: mixed}\n"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  const std::string yaml = effective_yaml(*loaded);
  EXPECT_THAT(yaml, ContainsRegex("  migStrategy: mixed +# c.yaml:1\n"));
  EXPECT_THAT(yaml, ContainsRegex("  gdsEnabled: true +# --gds-enabled\n"));
  EXPECT_THAT(yaml, ContainsRegex("  mofedEnabled: true +# MOFED_ENABLED\n"));
  EXPECT_THAT(yaml, ContainsRegex("  failOnInitError: true +# default\n"));
  EXPECT_THAT(yaml, ContainsRegex("# --v=4 +# -v 4\n"));
  EXPECT_THAT(yaml, ContainsRegex("# --kubelet-socket=/var.*/kubelet.sock +# default\n"));
  EXPECT_THAT(yaml, Not(HasSubstr("logtostderr")));
}

TEST(EffectiveYaml, HasAnOriginForEverySettingAndRow) {
  const auto loaded = load_file(kFull);
  ASSERT_TRUE(loaded) << problem_of(loaded);
  for (const Provenance& setting : loaded->provenance) {
    EXPECT_FALSE(setting.origin.text.empty()) << setting.setting;
  }
  const std::string yaml = effective_yaml(*loaded);
  EXPECT_THAT(yaml, HasSubstr("- pattern: \"*A100*\""));
  EXPECT_THAT(yaml, ContainsRegex("- name: nvidia.com/gpu-a100 +# config.yaml:16\n"));
  EXPECT_THAT(yaml, HasSubstr("rename: nvidia.com/gpu-a100.shared\n"));
  EXPECT_THAT(yaml, ContainsRegex("failRequestsGreaterThanOne: true +# config.yaml:14\n"));
}

TEST(EffectiveYaml, LoadsAgainAsTheSameSettings) {
  for (const std::string file : {"", kFull}) {
    EXPECT_EQ(round_trip_problem({{}, {"c.yaml", file}}), std::nullopt);
  }
  const Sources sources{{"--mig-strategy=single", "--kubelet-socket=", "-host-path=/x", "-v=9"},
                        {{"EXCLUDE_DEVICES", "1, 07:00.0"}, {"DP_DISABLE_HEALTHCHECKS", "all"}}};
  EXPECT_EQ(round_trip_problem({sources, {"c.yaml", kFull}}), std::nullopt);
}

TEST(EffectiveYaml, IsStillTheSameWithoutTheSourcesThatTheFileCanReplace) {
  const auto loaded = load_settings(
      Sources{{"--mig-strategy=single", "--imex-channel-ids=0", "--exclude-devices=3,*T4*"},
              {{"HEALTH_CHECK_INTERVAL", "150ms"}, {"CONTAINER_PATH", "/c"}, {"HOST_PATH", "/h"}}},
      std::nullopt);
  ASSERT_TRUE(loaded) << problem_of(loaded);
  const auto again = load_file(effective_yaml(*loaded));
  ASSERT_TRUE(again) << problem_of(again);
  EXPECT_EQ(again->settings, loaded->settings);
}

TEST(EffectiveYaml, QuotesWhatWouldBeReadAsSomethingElse) {
  for (const char* text :
       {"true", "5", "1.5", "null", "~", "", "a b", "#", "-", "é", "a: b", "\"", "\\"}) {
    const std::string path = std::string("/") + text;
    const auto loaded =
        load_flags({"--driver-root=" + path, "--cdi-annotation-prefix=" + std::string(text)});
    ASSERT_TRUE(loaded) << problem_of(loaded);
    const auto again = load_file(effective_yaml(*loaded));
    ASSERT_TRUE(again) << text << ": " << problem_of(again);
    EXPECT_EQ(again->settings, loaded->settings) << text;
  }
}

TEST(EffectiveJson, HasTheConfigurationTheRestAndTheOrigins) {
  const auto loaded = load_file(kFull, {"--state-dir=/s"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  const auto json = nlohmann::json::parse(effective_json(*loaded));
  EXPECT_EQ(json["configuration"]["flags"]["migStrategy"], "mixed");
  EXPECT_EQ(json["configuration"]["flags"]["plugin"]["passDeviceSpecs"], true);
  EXPECT_EQ(json["configuration"]["imex"]["channelIDs"], nlohmann::json::array({0}));
  EXPECT_EQ(json["configuration"]["sharing"]["timeSlicing"]["resources"][1]["devices"], 3);
  EXPECT_EQ(json["notInFile"]["state-dir"], "/s");
  EXPECT_EQ(json["origins"]["flags.migStrategy"], "config.yaml:3");
  EXPECT_EQ(json["origins"]["state-dir"], "--state-dir=/s");
  EXPECT_EQ(json["origins"]["sharing.timeSlicing.resources[2]"], "config.yaml:18");
  EXPECT_EQ(json["notices"].size(), loaded->notices.size());
}

TEST(EffectiveJson, SurvivesAPathThatIsNotUtf8) {
  const auto loaded = load_settings({}, ConfigText{"\xFF\n.yaml", "flags: {gdsEnabled: true}\n"});
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(nlohmann::json::accept(effective_json(*loaded)));
  const auto again = load_file(effective_yaml(*loaded));
  ASSERT_TRUE(again) << problem_of(again);
  EXPECT_TRUE(again->settings.grant.gds);
}

TEST(Corpus, RoundTripsOrIsRefused) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TRANCHE_CORPUS)) {
    const Result<std::string> content = read_file(entry.path());
    ASSERT_TRUE(content);
    EXPECT_EQ(round_trip_problem(split_input(*content)), std::nullopt) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 10U);
}

}  // namespace
}  // namespace tranche::programs
