// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/config_choice.h"

#include <gmock/gmock.h>

#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::programs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kLabel = "nvidia.com/device-plugin.config";

OwnNodeState node_with(std::map<std::string, std::string> labels) {
  return {.is_known = true, .node = NodeView{.name = "n", .labels = std::move(labels)}};
}

TEST(LabelValue, IsUnknownUntilTheNodeIsThere) {
  EXPECT_EQ(label_value({}, kLabel), std::nullopt);
  EXPECT_EQ(label_value({.is_known = true}, kLabel), std::nullopt);
  EXPECT_EQ(label_value(node_with({}), kLabel), "");
  EXPECT_EQ(label_value(node_with({{kLabel, "a"}}), kLabel), "a");
}

TEST(LabelValue, IsWaitedForAndNotForEver) {
  Latest<OwnNodeState> node;
  EXPECT_EQ(wait_for_label(node, kLabel, std::chrono::milliseconds(1)), std::nullopt);
  node.publish(node_with({{kLabel, "a"}}));
  EXPECT_EQ(wait_for_label(node, kLabel, std::chrono::seconds(60)), "a");
}

class LoadChosen : public testing::Test {
 protected:
  LoadChosen() {
    write("a", "version: v1\n");
    write("b", "version: v1\nflags: {migStrategy: mixed}\n");
    write("bad", "version: v1\nflag: {}\n");
    sources_.arguments = {"--config-dir=" + configs_.path(), "--state-dir=" + state_.path(),
                          "--default-config=a"};
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(configs_.path(name)) << text;
  }

  Result<Loaded> load(const std::optional<std::string>& label) {
    refused_.clear();
    return load_chosen(sources_, *load_settings(sources_), label, refused_);
  }

  std::string chosen(const std::optional<std::string>& label) {
    const auto loaded = load(label);
    return loaded ? loaded->choice->name : "error: " + loaded.error().message;
  }

  TempDir configs_;
  TempDir state_;
  Sources sources_;
  std::vector<std::string> refused_;
};

TEST_F(LoadChosen, IsTheFileOfTheLabel) {
  const auto loaded = load("b");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(effective_yaml(*loaded), HasSubstr("migStrategy: mixed"));
  EXPECT_EQ(loaded->settings.config_file, configs_.path("b"));
  EXPECT_EQ(chosen(""), "a");
}

TEST_F(LoadChosen, RemembersWhileTheLabelIsUnknown) {
  EXPECT_EQ(chosen(std::nullopt), "a");
  ASSERT_TRUE(remember_choice(state_.path(), {"b", ChosenBy::kLabel}));
  const auto loaded = load(std::nullopt);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->choice, (ConfigChoice{"b", ChosenBy::kLabel, true}));
  EXPECT_EQ(chosen(""), "a");
}

TEST_F(LoadChosen, TakesTheOneBeforeInThePlaceOfABadOne) {
  ASSERT_TRUE(remember_choice(state_.path(), {"b", ChosenBy::kLabel}));
  EXPECT_EQ(chosen("bad"), "b");
  EXPECT_THAT(refused_, ElementsAre(HasSubstr(configs_.path("bad"))));
  EXPECT_EQ(chosen("missing"), "b");
  EXPECT_THAT(refused_, ElementsAre(HasSubstr("there is no configuration 'missing'")));
}

TEST_F(LoadChosen, NamesEverythingWhereNothingCanBeLoaded) {
  sources_.arguments.back() = "--default-config=bad";
  EXPECT_THAT(chosen("missing"), HasSubstr("there is no configuration 'missing'"));
  EXPECT_THAT(chosen("missing"), HasSubstr(configs_.path("bad")));
}

TEST_F(LoadChosen, ReportsAMemoryThatCannotBeUnderstood) {
  std::ofstream(state_.path("config-choice.json")) << "{";
  EXPECT_EQ(chosen(std::nullopt), "a");
  EXPECT_THAT(refused_, ElementsAre(HasSubstr("config-choice.json")));
}

}  // namespace
}  // namespace tranche::programs
