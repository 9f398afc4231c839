// SPDX-License-Identifier: Apache-2.0
//
// Configuration at start and while the agent runs.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "integration/node_story.h"

namespace tranche::tests {
namespace {

using standin::EventKind;
using testing::HasSubstr;

constexpr const char* kShared = "nvidia.com/gpu.shared";

std::string replicas(int count, bool renamed = false) {
  return "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: " +
         std::string(renamed ? "true" : "false") +
         "\n    resources:\n      - {name: nvidia.com/gpu, replicas: " + std::to_string(count) +
         "}\n";
}

class ConfigStory : public NodeStory {
 protected:
  void begin_with(const std::string& config, const std::string& world = "t4-quad") {
    write("config.yaml", config);
    begin(world, {"--config-file=" + path("config.yaml")});
  }

  std::size_t count_lines(const std::string& text) {
    const auto lines = agent_->lines();
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const auto& line) { return line.text.find(text) != std::string::npos; }));
  }
};

TEST_F(ConfigStory, AChangedFileIsTakenUpWithoutANewRegistration) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  write("config.yaml", replicas(5));
  expect_allocatable(kGpu, 20);
  EXPECT_EQ(count_events(EventKind::kRegister), 1U);
  EXPECT_EQ(count_events(EventKind::kListAndWatchEnded), 0U);
}

TEST_F(ConfigStory, ANewNameIsRegisteredAndTheOldOneRetired) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  write("config.yaml", replicas(2, true));
  expect_allocatable(kShared, 8);
  expect_capacity(kGpu, 0);
}

// Replicas that pods have from before keep their GPU from being given whole.
TEST_F(ConfigStory, AGpuIsNotGivenWholeWhileReplicasOfBeforeAreHeld) {
  make_node("t4-quad");
  start_kubelet({.pod_resources_directory = path("pods")});
  write("config.yaml", replicas(2));
  const std::vector<std::string> flags{"--fail-on-init-error=false",
                                       "--config-file=" + path("config.yaml"),
                                       "--pod-resources-socket=" + kubelet_->pod_resources_path()};
  start_agent(flags);
  expect_allocatable(kGpu, 8);
  ASSERT_TRUE(admit("old", {{kGpu, 1}}).admitted);
  write("config.yaml", "version: v1\n");
  expect_capacity(kGpu, 4);
  expect_allocatable(kGpu, 3);
  // Nor by an agent that comes with the new configuration.
  stop_agent();
  start_agent(flags);
  expect_allocatable(kGpu, 3);
  // Nor by one that sees the GPUs later.
  stop_agent();
  happens(sim::unload_driver());
  start_agent(flags);
  expect_log("driver is not loaded");
  happens(sim::load_driver());
  expect_allocatable(kGpu, 3);
  EXPECT_TRUE(admit("three", {{kGpu, 3}}).admitted);
  EXPECT_FALSE(admit("fourth", {{kGpu, 1}}).admitted);
  remove("old");
  expect_allocatable(kGpu, 4);
  EXPECT_TRUE(admit("fourth again", {{kGpu, 1}}).admitted);
}

// A number in a manifest does not come to mean less.
TEST_F(ConfigStory, AUnitThatWasChosenStaysWhenTheLargeGpusAreGone) {
  begin_with(
      "version: v1\ntranche: {policies: [{resource: a.b/memory, share: memory, unit: auto}]}\n",
      "hgx-h200");
  expect_log("resource=a.b/memory.*unit=64MiB");
  stop_agent();
  std::filesystem::remove_all(path("root"));
  make_node("t4-quad");
  start_agent({"--config-file=" + path("config.yaml")});
  expect_allocatable("a.b/memory", 4L * 15 * 16);
  expect_log("a unit stays 64MiB");
}

TEST_F(ConfigStory, OnlyWhatChangedIsRegisteredAnew) {
  write("config.yaml", "version: v1\n");
  begin("dgx-a100-mig-mixed", {"--mig-strategy=mixed", "--config-file=" + path("config.yaml")});
  expect_allocatable("nvidia.com/mig-1g.5gb", 9);
  const auto before = count_events(EventKind::kRegister, "nvidia.com/mig-1g.5gb");
  write("config.yaml",
        "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, rename: "
        "nvidia.com/slow, replicas: 3}]}}\n");
  expect_allocatable("nvidia.com/slow", 12);
  EXPECT_EQ(count_events(EventKind::kRegister, "nvidia.com/mig-1g.5gb"), before);
}

TEST_F(ConfigStory, ABrokenFileIsRefusedAndCountedWhileTheGoodOneStays) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  write("config.yaml", "version: v1\nsharing:\n  timeSlicing:\n    resourcs: []\n");
  expect_log("configuration refused.*config.yaml:4.*resourcs");
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 8);
  const auto devices = command({"devices", "-o", "json"});
  EXPECT_THAT(devices.output, HasSubstr("\"reloadsRefused\": 1"));
  EXPECT_THAT(devices.output, HasSubstr("did you mean"));
  EXPECT_TRUE(admit("pod", {{kGpu, 1}}).admitted) << "it still serves";
  write("config.yaml", replicas(3));
  expect_allocatable(kGpu, 12);
}

TEST_F(ConfigStory, ATruncatedAndAHostileFileAreRefused) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  for (const std::string& content :
       {std::string("version: v1\nsharing: {timeSlicing: {resour"), std::string(2 << 20, 'x'),
        std::string("\0\x01\x02\xff", 4), std::string(100000, '[')}) {
    const std::size_t mark = log_mark();
    write("config.yaml", content);
    expect_log_after(mark, "configuration refused");
  }
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 8);
}

TEST_F(ConfigStory, AConfigMapThatSwapsItsLinkIsNoticed) {
  write("map/..one/config.yaml", replicas(2));
  write("map/..two/config.yaml", replicas(3));
  std::filesystem::create_symlink("..one", path("map/..data"));
  std::filesystem::create_symlink("..data/config.yaml", path("map/config.yaml"));
  begin("t4-quad", {"--config-file=" + path("map/config.yaml")});
  expect_allocatable(kGpu, 8);
  std::filesystem::create_symlink("..two", path("map/..data_tmp"));
  std::filesystem::rename(path("map/..data_tmp"), path("map/..data"));
  expect_allocatable(kGpu, 12);
}

// The first half is a good configuration too: one that shares nothing.
TEST_F(ConfigStory, AFileIsNotTakenWhileItsWriterHasItOpen) {
  write("config.yaml", replicas(2));
  begin("t4-quad", {"--config-file=" + path("config.yaml"), "--v=4"});
  expect_allocatable(kGpu, 8);
  const std::string whole = replicas(3);
  const std::size_t half = std::string("version: v1\n").size();
  std::ofstream writer(path("config.yaml"));
  writer << whole.substr(0, half) << std::flush;
  expect_log("configuration file is being changed");
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 8);
  writer << whole.substr(half);
  writer.close();
  expect_allocatable(kGpu, 12);
  EXPECT_EQ(count_lines("configuration reloaded"), 1U);
  EXPECT_EQ(count_lines("configuration refused"), 0U);
}

TEST_F(ConfigStory, AFileWithoutSettingsIsRefusedAtReload) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  for (const char* content : {"", "\n\n", "# nothing\n", "---\n"}) {
    const std::size_t mark = log_mark();
    write("config.yaml", content);
    expect_log_after(mark, "configuration refused.*config.yaml: the file has no settings in it");
    write("config.yaml", replicas(2));
    expect_log_after(mark, "the new configuration changes no setting");
  }
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 8);
  EXPECT_EQ(count_events(EventKind::kRegister), 1U);
}

// As NVIDIA's config-manager does it with the strategy "empty".
TEST_F(ConfigStory, ALinkToDevNullIsAConfigurationWithNothingButDefaults) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  std::filesystem::remove(path("config.yaml"));
  std::filesystem::create_symlink("/dev/null", path("config.yaml"));
  ASSERT_TRUE(agent_->signal(SIGHUP));
  expect_allocatable(kGpu, 4);
}

TEST_F(ConfigStory, AnEmptyFileAtStartIsAConfigurationWithNothingButDefaults) {
  begin_with("");
  expect_allocatable(kGpu, 4);
}

TEST_F(ConfigStory, EachWayToChangeAFileIsNoticed) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  write("next", replicas(3));
  ASSERT_EQ(std::system(("cp " + path("next") + " " + path("config.yaml")).c_str()), 0);
  expect_allocatable(kGpu, 12);
  write("next", replicas(4));
  std::filesystem::rename(path("next"), path("config.yaml"));
  expect_allocatable(kGpu, 16);
  write("next", replicas(5));
  // Three writers, one after the other.
  const std::string to = " >> " + path("config.yaml");
  const std::string pieces = ": > " + path("config.yaml") + "; head -c 20 " + path("next") + to +
                             "; tail -c +21 " + path("next") + to;
  ASSERT_EQ(std::system(pieces.c_str()), 0);
  expect_allocatable(kGpu, 20);
  const std::size_t mark = log_mark();
  std::filesystem::remove(path("config.yaml"));
  expect_log_after(mark, "configuration refused.*No such file");
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 20);
  write("config.yaml", replicas(6));
  expect_allocatable(kGpu, 24);
  EXPECT_EQ(count_events(EventKind::kRegister), 1U);
}

TEST_F(ConfigStory, AReloadSaysWhatItChanged) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  write("config.yaml", replicas(5) + "tranche: {healthCheckInterval: 2s}\n");
  expect_log(
      R"(setting changed.*sharing.timeSlicing.resources\[nvidia.com/gpu\].replicas: 2 -> 5)");
  // The flag is there, and wins.
  EXPECT_EQ(count_lines("healthCheckInterval"), 0U) << agent_->output();
}

TEST_F(ConfigStory, ASighupReadsTheFileAgain) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  const std::size_t mark = log_mark();
  ASSERT_TRUE(agent_->signal(SIGHUP));
  expect_log_after(mark, "configuration reloaded");
  EXPECT_EQ(count_events(EventKind::kRegister), 1U);
}

TEST_F(ConfigStory, AListThatTheKubeletCouldNotTakeIsRefusedAtReload) {
  begin_with(replicas(2));
  expect_allocatable(kGpu, 8);
  write("config.yaml", replicas(30000));
  expect_log("configuration refused.*would have 120000 shares");
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 8);
}

TEST_F(ConfigStory, ABrokenFileAtFirstStartEndsTheProcessWithTheReason) {
  make_node("t4-quad");
  start_kubelet();
  write("config.yaml", "version: v1\nflags: {migStrategie: mixed}\n");
  start_agent({"--config-file=" + path("config.yaml")});
  const auto end = agent_->wait_for_end(kPatience);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 1);
  EXPECT_THAT(agent_->output(), HasSubstr("config.yaml:2"));
  EXPECT_THAT(agent_->output(), HasSubstr("migStrategy"));
}

TEST_F(ConfigStory, AMissingFileAtFirstStartEndsTheProcessWithTheReason) {
  make_node("t4-quad");
  start_kubelet();
  start_agent({"--config-file=" + path("nowhere.yaml")});
  const auto end = agent_->wait_for_end(kPatience);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 1);
  EXPECT_THAT(agent_->output(), HasSubstr("nowhere.yaml"));
}

TEST_F(ConfigStory, GpusCanBeExcluded) {
  begin("mixed-models", {"--exclude-devices=0,*4090*"});
  expect_allocatable(kGpu, 3);
  expect_log("device is not offered: GPU-.*: excluded by the configuration");
}

TEST_F(ConfigStory, ResourceNamesFollowTheModel) {
  write("config.yaml",
        "version: v1\nresources:\n  gpus:\n    - {pattern: '*T4*', name: gpu-small}\n"
        "    - {pattern: '*', name: example.com/gpu-big}\n");
  begin("mixed-models", {"--config-file=" + path("config.yaml")});
  expect_allocatable("nvidia.com/gpu-small", 1);
  expect_allocatable("example.com/gpu-big", 4);
}

TEST_F(ConfigStory, MigSingleServesTheLayoutOfTheMostAndNotNothing) {
  begin("dgx-a100-mig-single", {"--mig-strategy=single"});
  expect_log("driver opened");
  EXPECT_TRUE(kubelet_->wait_until(
      [&](const standin::NodeView& node) { return node.allocatable(kGpu) > 0; }, kPatience));
}

}  // namespace
}  // namespace tranche::tests
