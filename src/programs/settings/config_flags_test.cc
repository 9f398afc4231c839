// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::Contains;
using testing::find_setting;
using ::testing::HasSubstr;
using testing::load_flags;
using testing::load_variables;
using testing::problem_of;

TEST(ConfigFlags, AFolderAndAFileAreRefusedTogether) {
  const std::string problem =
      problem_of(load_flags({"--config-dir=/configs", "--config-file=/etc/a.yaml"}));
  EXPECT_THAT(problem, HasSubstr("--config-dir=/configs: has several configurations"));
  EXPECT_THAT(problem, HasSubstr("--config-file=/etc/a.yaml names one file"));
  EXPECT_THAT(problem_of(load_variables({{"CONFIG_DIR", "/c"}, {"CONFIG_FILE", "/f"}})),
              HasSubstr("CONFIG_DIR: has several configurations"));
  // An empty one is none.
  EXPECT_EQ(problem_of(load_flags({"--config-dir=", "--config-file=/etc/a.yaml"})), "loaded");
}

TEST(ConfigFlags, TheLabelMustHaveAName) {
  EXPECT_THAT(problem_of(load_flags({"--config-dir=/c", "--config-label="})),
              HasSubstr("must not be empty"));
}

TEST(ConfigFlags, WithoutAFolderTheOthersHaveNoEffect) {
  const auto loaded = load_flags({"--default-config=a"});
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->notices,
              Contains("--default-config=a: without effect: there is no --config-dir"));
}

// NVIDIA's chart sets the variable also where it has no strategy.
TEST(ConfigFlags, NoStrategyIsTaken) {
  const auto loaded = load_variables({{"CONFIG_DIR", "/c"}, {"FALLBACK_STRATEGIES", ""}});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->settings.named_configs.fallbacks.empty());
}

TEST(ConfigFlags, AChosenFileIsShownWithTheReason) {
  const ConfigChoice choice{"a", ChosenBy::kLabel};
  const auto loaded = load_settings(Sources{.arguments = {"--config-dir=/configs"}},
                                    ConfigText{"/configs/a", "version: v1\n"}, choice);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->settings.config_file, "/configs/a");
  EXPECT_EQ(loaded->choice, choice);
  const Provenance* file = find_setting(*loaded, "config-file");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->origin.text, "label nvidia.com/device-plugin.config=a");
  EXPECT_THAT(effective_yaml(*loaded), HasSubstr("/configs/a"));
}

}  // namespace
}  // namespace tranche::programs
