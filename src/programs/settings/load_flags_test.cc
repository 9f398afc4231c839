// SPDX-License-Identifier: Apache-2.0
//
// Every setting, given in every way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/settings/flag_table.h"
#include "programs/settings/load.h"
#include "programs/settings/testing/loading.h"
#include "programs/settings/testing/setting_rows.h"

namespace tranche::programs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using namespace tranche::programs::testing;

// "flags.plugin.x" with a value, as a file. JSON-like, so that lines stay one.
std::string file_with(const std::string& key, const std::string& value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return key + ": " + value + "\n";
  return key.substr(0, dot) + ": {" + file_with(key.substr(dot + 1), value) + "}\n";
}

std::string title_of(const SettingRow& row) {
  return row.names.empty() ? row.variables[0] : row.names[0];
}

Settings expected(const SettingRow& row) {
  Settings settings = default_settings();
  row.expect(settings);
  return settings;
}

// -container-path and -container-vulkan-icd-path cannot stand alone, and the value of -token is not
// kept; they have tests of their own below.
TEST(LoadSettings, HasARowHereForEverySetting) {
  std::vector<std::string> titles;
  for (const SettingRow& row : all_rows()) titles.push_back(title_of(row));
  titles.emplace_back("container-path");
  titles.emplace_back("container-vulkan-icd-path");
  titles.emplace_back("token");
  std::vector<std::string> table;
  for (const Option& flag : flag_table()) table.emplace_back(flag.title());
  EXPECT_THAT(titles, ::testing::UnorderedElementsAreArray(table));
}

TEST(LoadSettings, HasTheDocumentedDefaults) {
  const auto loaded = load_flags({});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings, default_settings());
  for (const SettingRow& row : all_rows()) {
    const Provenance* setting = find_setting(*loaded, title_of(row));
    ASSERT_NE(setting, nullptr) << title_of(row);
    EXPECT_EQ(show(setting->value), row.fallback) << title_of(row);
    EXPECT_EQ(setting->origin.kind, OriginKind::kDefault) << title_of(row);
    EXPECT_THAT(setting->origin.text, StartsWith("default")) << title_of(row);
    EXPECT_EQ(setting->key, row.key) << title_of(row);
  }
}

void expect_taken(const SettingRow& row, const std::string& dashed_name) {
  const std::string equals = dashed_name + "=" + row.sample;
  const auto loaded = load_flags({equals});
  ASSERT_TRUE(loaded) << equals << ": " << problem_of(loaded);
  EXPECT_EQ(loaded->settings, expected(row)) << equals;
  const Provenance* setting = find_setting(*loaded, title_of(row));
  EXPECT_EQ(setting->origin, (Origin{OriginKind::kFlag, equals}));
  EXPECT_EQ(show(setting->value), row.sample);
  if (row.sample == "true" || row.sample == "false") return;
  const auto spaced = load_flags({dashed_name, row.sample});
  ASSERT_TRUE(spaced) << dashed_name << ": " << problem_of(spaced);
  EXPECT_EQ(spaced->settings, expected(row)) << dashed_name;
}

TEST(LoadSettings, TakesEveryFlagByEveryNameInEverySyntax) {
  for (const SettingRow& row : all_rows()) {
    for (const std::string& name : row.names) {
      expect_taken(row, "-" + name);
      expect_taken(row, "--" + name);
    }
  }
}

TEST(LoadSettings, TakesABooleanWithoutAValueForTrue) {
  for (const SettingRow& row : all_rows()) {
    if (row.sample != "true") continue;
    const auto loaded = load_flags({"--" + row.names[0]});
    ASSERT_TRUE(loaded) << problem_of(loaded);
    EXPECT_EQ(loaded->settings, expected(row)) << row.names[0];
  }
}

TEST(LoadSettings, TakesEveryVariable) {
  for (const SettingRow& row : all_rows()) {
    for (const std::string& variable : row.variables) {
      const auto loaded = load_variables({{variable, row.sample}});
      ASSERT_TRUE(loaded) << variable << ": " << problem_of(loaded);
      EXPECT_EQ(loaded->settings, expected(row)) << variable;
      const Provenance* setting = find_setting(*loaded, title_of(row));
      EXPECT_EQ(setting->origin, (Origin{OriginKind::kEnvironment, variable}));
    }
  }
}

TEST(LoadSettings, TakesEveryKey) {
  for (const SettingRow& row : all_rows()) {
    if (row.key.empty()) continue;
    const std::string file = file_with(row.key, row.in_file);
    const auto loaded = load_file("# a comment\n" + file);
    ASSERT_TRUE(loaded) << file << ": " << problem_of(loaded);
    EXPECT_EQ(loaded->settings, expected(row)) << file;
    const Provenance* setting = find_setting(*loaded, title_of(row));
    EXPECT_EQ(setting->origin, (Origin{OriginKind::kFile, "config.yaml:2"})) << file;
  }
}

TEST(LoadSettings, LetsTheFlagWinOverTheVariableAndThatOverTheFile) {
  for (const SettingRow& row : all_rows()) {
    if (row.key.empty() || row.names.empty()) continue;
    const std::string file = file_with(row.key, row.in_file);
    const std::string& variable = row.variables[0];
    const auto by_variable = load_file(file, {}, {{variable, row.other}});
    ASSERT_TRUE(by_variable) << problem_of(by_variable);
    EXPECT_EQ(show(find_setting(*by_variable, title_of(row))->value), row.other);
    EXPECT_EQ(find_setting(*by_variable, title_of(row))->origin.text, variable);

    const std::string flag = "--" + row.names[0] + "=" + row.sample;
    const auto by_flag =
        load_file(file_with(row.key, row.in_file), {flag}, {{variable, row.other}});
    ASSERT_TRUE(by_flag) << problem_of(by_flag);
    EXPECT_EQ(by_flag->settings, expected(row)) << flag;
    EXPECT_EQ(find_setting(*by_flag, title_of(row))->origin.text, flag);
  }
}

TEST(LoadSettings, LetsTheFlagWinOverTheVariableWhereTheFileHasNoKey) {
  for (const SettingRow& row : all_rows()) {
    if (row.variables.empty() || row.names.empty()) continue;
    const std::string flag = "--" + row.names[0] + "=" + row.sample;
    const auto loaded =
        load_settings(Sources{{flag}, {{row.variables[0], row.other}}}, std::nullopt);
    ASSERT_TRUE(loaded) << problem_of(loaded);
    EXPECT_EQ(loaded->settings, expected(row)) << flag;
  }
}

TEST(LoadSettings, TakesTheFirstOfTwoVariables) {
  for (const SettingRow& row : all_rows()) {
    if (row.variables.size() < 2) continue;
    const auto loaded =
        load_variables({{row.variables[0], row.sample}, {row.variables[1], row.other}});
    ASSERT_TRUE(loaded) << problem_of(loaded);
    EXPECT_EQ(loaded->settings, expected(row)) << row.variables[0];
  }
}

TEST(LoadSettings, NamesTheFlagThatIsWrong) {
  for (const SettingRow& row : all_rows()) {
    for (const std::string& name : row.names) {
      const std::string flag = "--" + name + "=" + row.wrong;
      EXPECT_THAT(problem_of(load_flags({flag})), StartsWith(brief(flag) + ": ")) << flag;
    }
  }
}

TEST(LoadSettings, NamesTheVariableThatIsWrong) {
  for (const SettingRow& row : all_rows()) {
    for (const std::string& variable : row.variables) {
      EXPECT_THAT(problem_of(load_variables({{variable, row.wrong}})), StartsWith(variable + ": "));
    }
  }
}

TEST(LoadSettings, NamesTheKeyAndLineThatIsWrong) {
  for (const SettingRow& row : all_rows()) {
    if (row.key.empty() || !is_plain_text(row.wrong)) continue;
    const bool list = row.in_file.starts_with('[');
    const std::string value = list ? "[" + row.wrong + "]" : "'" + row.wrong + "'";
    const std::string problem = problem_of(load_file("\n\n" + file_with(row.key, value)));
    EXPECT_THAT(problem, StartsWith("config.yaml:3: " + row.key + ": ")) << value;
  }
}

TEST(LoadSettings, TellsOfAWrongKeyEvenWhenAFlagOverridesIt) {
  EXPECT_THAT(problem_of(load_file("flags: {migStrategy: mixd}\n", {"--mig-strategy=none"})),
              HasSubstr("unknown MIG strategy: mixd"));
}

TEST(LoadSettings, KeepsASecretNowhere) {
  const auto loaded = load_flags({"-token=hush", "-token", "hush"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings, default_settings());
  EXPECT_EQ(find_setting(*loaded, "token")->origin, (Origin{OriginKind::kFlag, "--token"}));
  EXPECT_THAT(effective_yaml(*loaded) + effective_json(*loaded), Not(HasSubstr("hush")));
}

TEST(LoadSettings, SaysWhatAFlagWithoutEffectWouldHaveDone) {
  const auto loaded = load_flags({"--enable-container-gpu-metrics", "--enable-health-monitoring",
                                  "-gpu-config=/etc/gpu.json", "--health-check", "-query-kubelet",
                                  "-publish-driver-version=false", "-logtostderr"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->notices,
              UnorderedElementsAre(
                  HasSubstr("--enable-container-gpu-metrics: without effect: this version has no"),
                  HasSubstr("-gpu-config=/etc/gpu.json: without effect: the file is not read"),
                  HasSubstr("-query-kubelet: without effect: this version asks neither")));
}

TEST(LoadSettings, TakesTheFolderOfTheSocketOrTheSocketButNotTwoDifferent) {
  EXPECT_THAT(problem_of(load_flags({"-plugin-directory=/d", "--kubelet-socket=/k/kubelet.sock"})),
              AllOf(StartsWith("-plugin-directory=/d: "), HasSubstr("/d/kubelet.sock"),
                    HasSubstr("--kubelet-socket=/k/kubelet.sock names another")));
  EXPECT_THAT(problem_of(load_flags({"-plugin-directory=/d", "--kubelet-socket="})),
              HasSubstr("leave one of them out"));
  const auto same = load_flags({"-plugin-directory=/d", "--kubelet-socket=/d/kubelet.sock"});
  ASSERT_TRUE(same) << problem_of(same);
  EXPECT_EQ(same->settings.kubelet.socket, "/d/kubelet.sock");
}

TEST(LoadSettings, CanDoWithoutTheKubeletsRecords) {
  const auto loaded = load_flags({"--pod-resources-socket=", "--kubelet-checkpoint="});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings.kubelet.pod_resources_socket, "");
  EXPECT_EQ(loaded->settings.kubelet.checkpoint, "");
}

TEST(LoadSettings, DoesNotMindAWrongVariableThatAFlagOverrides) {
  const Sources sources{{"--mig-strategy=none"}, {{"MIG_STRATEGY", "mixd"}}};
  EXPECT_TRUE(load_settings(sources, std::nullopt));
}

}  // namespace
}  // namespace tranche::programs
