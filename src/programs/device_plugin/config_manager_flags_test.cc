// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/config_manager_flags.h"

#include <gmock/gmock.h>

namespace tranche::programs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Environment kOfSidecar = {{"ONESHOT", "false"},
                                {"KUBECONFIG", ""},
                                {"NODE_NAME", "n"},
                                {"NODE_LABEL", "nvidia.com/device-plugin.config"},
                                {"CONFIG_FILE_SRCDIR", "/available-configs"},
                                {"CONFIG_FILE_DST", "/config/config.yaml"},
                                {"DEFAULT_CONFIG", "a"},
                                {"FALLBACK_STRATEGIES", "named,single"},
                                {"SEND_SIGNAL", "true"},
                                {"SIGNAL", "1"},
                                {"PROCESS_TO_SIGNAL", "nvidia-device-plugin"}};

std::string problem_of(const Result<ConfigManagerFlags>& flags) {
  return flags ? "none" : flags.error().message;
}

TEST(ConfigManagerFlags, AreThoseOfNvidiasSidecar) {
  const auto flags = read_config_manager_flags({}, kOfSidecar);
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_FALSE(flags->oneshot);
  EXPECT_EQ(flags->node_name, "n");
  EXPECT_EQ(flags->configs.folder, "/available-configs");
  EXPECT_EQ(flags->configs.default_name, "a");
  EXPECT_THAT(flags->configs.fallbacks,
              ElementsAre(ConfigFallback::kNamed, ConfigFallback::kSingle));
  EXPECT_EQ(flags->destination, "/config/config.yaml");
  EXPECT_EQ(flags->signal, 1U);
  EXPECT_EQ(flags->process, "nvidia-device-plugin");
}

// The chart's init container has empty variables.
TEST(ConfigManagerFlags, AreThoseOfNvidiasInitContainer) {
  Environment environment = kOfSidecar;
  environment["ONESHOT"] = "true";
  environment["SEND_SIGNAL"] = "false";
  environment["SIGNAL"] = "";
  environment["PROCESS_TO_SIGNAL"] = "";
  environment["DEFAULT_CONFIG"] = "";
  environment["FALLBACK_STRATEGIES"] = "";
  const auto flags = read_config_manager_flags({}, environment);
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_TRUE(flags->oneshot);
  EXPECT_FALSE(flags->send_signal);
  EXPECT_TRUE(flags->configs.fallbacks.empty());
}

TEST(ConfigManagerFlags, HaveNvidiasDefaults) {
  const auto flags = read_config_manager_flags(
      {"--node-name=n", "--config-file-srcdir", "/a", "--config-file-dst=/b"}, {});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(flags->configs.label, "nvidia.com/device-plugin.config");
  EXPECT_TRUE(flags->send_signal);
  EXPECT_EQ(flags->signal, 1U);
  EXPECT_EQ(flags->process, "nvidia-device-plugin");
}

TEST(ConfigManagerFlags, NameWhatIsMissingOrWrong) {
  EXPECT_THAT(problem_of(read_config_manager_flags({}, {})), HasSubstr("--node-name is missing"));
  for (const char* name : {"NODE_NAME", "NODE_LABEL", "CONFIG_FILE_SRCDIR", "CONFIG_FILE_DST"}) {
    Environment environment = kOfSidecar;
    environment[name] = "";
    EXPECT_THAT(problem_of(read_config_manager_flags({}, environment)), HasSubstr("is missing"))
        << name;
  }
  EXPECT_THAT(problem_of(read_config_manager_flags({"--fallback-strategies=newest"}, kOfSidecar)),
              HasSubstr("unknown fallback strategy: newest"));
  EXPECT_THAT(problem_of(read_config_manager_flags({"--signal=99"}, kOfSidecar)),
              HasSubstr("--signal=99"));
  EXPECT_THAT(problem_of(read_config_manager_flags({"--process-to-signal="}, kOfSidecar)),
              HasSubstr("--process-to-signal is empty"));
}

}  // namespace
}  // namespace tranche::programs
