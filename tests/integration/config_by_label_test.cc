// SPDX-License-Identifier: Apache-2.0
//
// Configuration by the node's label: by the agent itself, and by NVIDIA's config-manager role.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "integration/node_api.h"
#include "integration/node_story.h"

namespace tranche::tests {
namespace {

using standin::EventKind;
using testing::HasSubstr;

constexpr const char* kLabel = "nvidia.com/device-plugin.config";
constexpr const char* kNode = "story-node";

std::string replicas(int count) {
  return "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: " +
         std::to_string(count) + "}]}}\n";
}

class ConfigByLabel : public NodeStory {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(path("configs"));
    config_map({{"whole", "version: v1\n"}, {"two", replicas(2)}, {"three", replicas(3)}});
  }

  // As the kubelet mounts a ConfigMap: all files change at once, by one link.
  void config_map(const std::map<std::string, std::string>& files) {
    const std::string version = "..version-" + std::to_string(++versions_);
    const std::filesystem::path folder = path("configs");
    std::filesystem::create_directory(folder / version);
    for (const auto& [name, text] : files) {
      std::ofstream(folder / version / name) << text;
      if (!std::filesystem::is_symlink(folder / name)) {
        std::filesystem::create_symlink("..data/" + name, folder / name);
      }
    }
    std::filesystem::create_symlink(version, folder / "..data_tmp");
    std::filesystem::rename(folder / "..data_tmp", folder / "..data");
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("..") && !files.contains(name)) std::filesystem::remove(entry.path());
    }
  }

  void start_api(std::map<std::string, std::string> labels) {
    api_.emplace(kNode);
    api_->set_labels(std::move(labels));
    write("kubeconfig", api_->kubeconfig());
  }

  std::vector<std::string> flags() const {
    return {"--config-dir=" + path("configs"), "--default-config=whole",
            "--node-name=" + std::string(kNode), "--kubeconfig=" + path("kubeconfig")};
  }

  void begin_labelled(std::map<std::string, std::string> labels) {
    start_api(std::move(labels));
    begin("t4-quad", flags());
  }

  nlohmann::json agent_facts() {
    return nlohmann::json::parse(command({"devices", "-o", "json"}).output).at("agent");
  }

  std::optional<NodeApi> api_;
  int versions_ = 0;
};

TEST_F(ConfigByLabel, ALabelSwitchesTheConfigurationOfARunningAgent) {
  begin_labelled({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
  ASSERT_TRUE(admit("pod", {{kGpu, 1}}).admitted);
  api_->set_labels({{kLabel, "three"}});
  expect_allocatable(kGpu, 12);
  // Without the label: the default.
  api_->set_labels({});
  expect_capacity(kGpu, 4);
  EXPECT_EQ(count_events(EventKind::kRegister), 1U);
  EXPECT_EQ(agent_facts().at("configuration").at("name"), "whole");
  EXPECT_EQ(agent_facts().at("configuration").at("chosenBy"), "default");
}

TEST_F(ConfigByLabel, AnEditedConfigMapIsLoadedAndABadOneRefused) {
  begin_labelled({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
  config_map({{"whole", "version: v1\n"}, {"two", replicas(5)}});
  expect_allocatable(kGpu, 20);
  config_map({{"whole", "version: v1\n"}, {"two", "version: v1\nflag: {}\n"}});
  expect_log("configuration refused; the one before stays in force.*flag");
  config_map({{"whole", "version: v1\n"}, {"two", replicas(6)}});
  expect_allocatable(kGpu, 24);
}

TEST_F(ConfigByLabel, ANameThatIsNotThereIsRefusedAndFollowedWhenItsFileAppears) {
  begin_labelled({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
  api_->set_labels({{kLabel, "later"}});
  expect_log(
      "configuration refused; the one before stays in force.*config=later.*there is no "
      "configuration 'later'; .*/configs has three, two, whole");
  EXPECT_EQ(agent_facts().at("configuration").at("name"), "two");
  EXPECT_THAT(agent_facts().at("lastRefusal"), HasSubstr("later"));
  config_map({{"whole", "version: v1\n"}, {"two", replicas(2)}, {"later", replicas(4)}});
  expect_allocatable(kGpu, 16);
  EXPECT_EQ(agent_facts().at("lastRefusal"), "");
}

TEST_F(ConfigByLabel, BackToTheOneInForceEndsTheRefusal) {
  begin_labelled({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
  api_->set_labels({{kLabel, "nothing"}});
  expect_log("configuration refused");
  const std::size_t mark = log_mark();
  api_->set_labels({{kLabel, "two"}});
  expect_log_after(mark, "the configuration stays in force.*configuration=two");
  EXPECT_EQ(agent_facts().at("lastRefusal"), "");
  EXPECT_EQ(agent_facts().at("reloadsTaken"), 0);
}

TEST_F(ConfigByLabel, AFileThatIsDeletedStaysInForce) {
  begin_labelled({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
  config_map({{"whole", "version: v1\n"}});
  expect_log("configuration refused.*there is no configuration 'two'");
  EXPECT_EQ(agent_facts().at("reloadsRefused"), 1);
  expect_allocatable(kGpu, 8);
}

TEST_F(ConfigByLabel, WithoutTheApiServerTheChoiceIsRemembered) {
  begin_labelled({{kLabel, "three"}});
  expect_allocatable(kGpu, 12);
  stop_agent();
  api_.reset();
  start_agent(flags());
  expect_log("the node's label is not known yet");
  expect_log("configuration chosen.*configuration=three.*memory of an earlier run");
  expect_allocatable(kGpu, 12);
  EXPECT_EQ(agent_facts().at("configuration").at("remembered"), true);
  const CommandResult tables = command({"devices"});
  EXPECT_THAT(tables.output, HasSubstr("configuration three, chosen by memory of an earlier run"));
  // Another server at another address: the agent has read the kubeconfig of before.
  stop_agent();
  start_api({});
  start_agent(flags());
  expect_capacity(kGpu, 4);
}

TEST_F(ConfigByLabel, AFirstStartWithoutTheApiServerServesTheDefaultAndThenTheLabel) {
  api_.emplace(kNode);  // the Node does not exist yet
  write("kubeconfig", api_->kubeconfig());
  begin("t4-quad", flags());
  expect_allocatable(kGpu, 4);
  api_->set_labels({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
}

TEST_F(ConfigByLabel, ABadFileAtTheStartIsReplacedByTheOneBefore) {
  begin_labelled({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
  stop_agent();
  config_map({{"whole", "version: v1\n"}, {"two", replicas(2)}, {"three", "version: v2\n"}});
  api_->set_labels({{kLabel, "three"}});
  start_agent(flags());
  expect_log("configuration chosen.*configuration=two");
  expect_log("configuration refused; the one before stays in force.*v2");
  expect_allocatable(kGpu, 8);
}

TEST_F(ConfigByLabel, AFirstStartWithAWrongLabelWaitsForAnother) {
  start_api({{kLabel, "nope"}});
  begin("t4-quad", {"--config-dir=" + path("configs"), "--node-name=" + std::string(kNode),
                    "--kubeconfig=" + path("kubeconfig"), "--node-events"});
  expect_log("no configuration can be in force.*there is no configuration 'nope'");
  api_->set_labels({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
}

TEST_F(ConfigByLabel, AStartThatCanLoadNothingStillEndsWhenItIsAsked) {
  start_api({});
  begin("t4-quad", {"--config-dir=" + path("configs"), "--node-name=" + std::string(kNode),
                    "--kubeconfig=" + path("kubeconfig")});
  expect_log("no configuration can be in force.*Label the node");
  stop_agent();
}

// The label's file was bad for a while: that must not be forgotten for the default.
TEST_F(ConfigByLabel, WhatAStartFellBackToIsNotRemembered) {
  begin_labelled({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
  stop_agent();
  config_map({{"whole", "version: v1\n"}, {"two", "nonsense"}});
  start_agent(flags());
  expect_log("configuration chosen configuration=whole");
  expect_log("configuration refused");
  stop_agent();
  config_map({{"whole", "version: v1\n"}, {"two", replicas(2)}});
  api_.reset();
  start_agent(flags());
  expect_log("configuration chosen configuration=two");
}

TEST_F(ConfigByLabel, CheckConfigShowsWhatIsInForceAndWhy) {
  begin_labelled({{kLabel, "two"}});
  expect_allocatable(kGpu, 8);
  std::vector<std::string> words = flags();
  words.insert(words.begin(), "check-config");
  const CommandResult shown = command(words);
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  EXPECT_THAT(shown.output, HasSubstr(path("configs/two")));
  EXPECT_THAT(shown.output + shown.error, HasSubstr("label nvidia.com/device-plugin.config=two"));
  // A file that is named is checked, also in a pod with CONFIG_DIR.
  ::setenv("CONFIG_DIR", path("configs").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const CommandResult one = command({"check-config", "--config-file=" + path("configs/three")});
  ::unsetenv("CONFIG_DIR");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(one.exit_code, 0) << one.error;
  EXPECT_THAT(one.output, HasSubstr("replicas: 3"));
}

class ConfigManagerStory : public ConfigByLabel {
 protected:
  void SetUp() override {
    ConfigByLabel::SetUp();
    std::filesystem::create_directories(path("bin"));
    std::filesystem::create_directories(path("config"));
    std::filesystem::create_symlink(TRANCHE_AGENT, path("bin/config-manager"));
    std::filesystem::create_symlink("/bin/sh", path("bin/plugin-standin"));
  }

  void manage(std::map<std::string, std::string> environment = {}) {
    environment.merge(
        std::map<std::string, std::string>{{"ONESHOT", "false"},
                                           {"KUBECONFIG", path("kubeconfig")},
                                           {"NODE_NAME", kNode},
                                           {"NODE_LABEL", kLabel},
                                           {"CONFIG_FILE_SRCDIR", path("configs")},
                                           {"CONFIG_FILE_DST", path("config/config.yaml")},
                                           {"DEFAULT_CONFIG", "whole"},
                                           {"FALLBACK_STRATEGIES", "named,single"},
                                           {"SEND_SIGNAL", "true"},
                                           {"SIGNAL", "1"},
                                           {"PROCESS_TO_SIGNAL", path("bin/plugin-standin")}});
    auto started = standin::AgentProcess::start(
        {.command = {path("bin/config-manager")}, .environment = std::move(environment)});
    ASSERT_TRUE(started) << started.error().message;
    agent_ = *std::move(started);
  }

  void start_plugin() {
    auto started = standin::AgentProcess::start(
        {.command = {path("bin/plugin-standin"), "-c",
                     "trap 'echo signalled' HUP; echo ready; while :; do sleep 0.05; done"}});
    ASSERT_TRUE(started) << started.error().message;
    plugin_ = *std::move(started);
    ASSERT_TRUE(plugin_->wait_for_line("ready", kPatience));
  }

  void expect_signal(std::size_t from) {
    const auto found = plugin_->wait_for_line("signalled", kPatience, from);
    EXPECT_TRUE(found) << found.error().message << agent_->output();
  }

  std::string linked() const { return std::filesystem::read_symlink(path("config/config.yaml")); }

  std::unique_ptr<standin::AgentProcess> plugin_;
};

TEST_F(ConfigManagerStory, OnceItLinksAndEnds) {
  start_api({{kLabel, "two"}});
  manage(
      {{"ONESHOT", "true"}, {"SEND_SIGNAL", "false"}, {"SIGNAL", ""}, {"PROCESS_TO_SIGNAL", ""}});
  const auto end = agent_->wait_for_end(kPatience);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, (standin::ProcessEnd{.exit_code = 0})) << agent_->output();
  EXPECT_EQ(linked(), path("configs/two"));
}

TEST_F(ConfigManagerStory, OnceItWaitsForTheNode) {
  api_.emplace(kNode);
  write("kubeconfig", api_->kubeconfig());
  manage({{"ONESHOT", "true"}, {"SEND_SIGNAL", "false"}});
  expect_log("there is no such Node; waiting for it");
  api_->set_labels({});
  const auto end = agent_->wait_for_end(kPatience);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, (standin::ProcessEnd{.exit_code = 0})) << agent_->output();
  EXPECT_EQ(linked(), path("configs/whole"));
}

TEST_F(ConfigManagerStory, ALabelMovesTheLinkAndSignalsThePlugin) {
  start_api({});
  start_plugin();
  manage();
  expect_signal(0);
  EXPECT_EQ(linked(), path("configs/whole"));
  std::size_t mark = plugin_->lines().size();
  api_->set_labels({{kLabel, "two"}});
  expect_signal(mark);
  EXPECT_EQ(linked(), path("configs/two"));
  // An edit moves no link.
  mark = plugin_->lines().size();
  config_map({{"whole", "version: v1\n"}, {"two", replicas(7)}});
  expect_signal(mark);
  EXPECT_EQ(linked(), path("configs/two"));
}

TEST_F(ConfigManagerStory, ANameThatIsNotThereChangesNothingAndEndsNothing) {
  start_api({{kLabel, "two"}});
  manage({{"SEND_SIGNAL", "false"}});
  expect_log("configuration linked.*two");
  api_->set_labels({{kLabel, "later"}});
  expect_log(
      "configuration refused; the one before stays linked.*there is no configuration 'later'");
  EXPECT_EQ(linked(), path("configs/two"));
  api_->set_labels({{kLabel, "two"}});
  expect_log("configuration is linked already.*two");
  api_->set_labels({{kLabel, "later"}});
  config_map({{"later", replicas(2)}});
  expect_log("configuration linked.*later");
  EXPECT_EQ(linked(), path("configs/later"));
  stop_agent();
}

TEST_F(ConfigManagerStory, AProcessThatIsNotThereYetIsSignalledLater) {
  start_api({{kLabel, "two"}});
  manage();
  expect_log("the process cannot be signalled; trying again.*there is no such process yet");
  start_plugin();
  expect_signal(0);
}

TEST_F(ConfigManagerStory, WithoutASuitableNameNothingIsLinked) {
  start_api({});
  manage({{"DEFAULT_CONFIG", ""}, {"FALLBACK_STRATEGIES", "named"}, {"SEND_SIGNAL", "false"}});
  expect_log("no configuration can be linked; waiting for one.*Label the node");
  EXPECT_FALSE(std::filesystem::exists(path("config/config.yaml")));
  api_->set_labels({{kLabel, "two"}});
  expect_log("configuration linked.*two");
}

TEST_F(ConfigManagerStory, TheEmptyStrategyLinksNothingness) {
  start_api({});
  manage({{"DEFAULT_CONFIG", ""}, {"FALLBACK_STRATEGIES", "empty"}, {"SEND_SIGNAL", "false"}});
  expect_log("configuration linked.*fallback strategy empty");
  EXPECT_EQ(linked(), "/dev/null");
}

}  // namespace
}  // namespace tranche::tests
