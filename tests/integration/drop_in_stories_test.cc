// SPDX-License-Identifier: Apache-2.0
//
// In the place of other plugins, and what check-config says before that.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include "integration/node_story.h"
#include "os/unique_fd.h"

namespace tranche::tests {
namespace {

using standin::EventKind;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class FlockStory : public NodeStory {
 protected:
  // As another plugin would.
  UniqueFd take_lock() {
    UniqueFd lock(
        ::open(path("dp/tpu-device-plugin.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    return lock;
  }
};

TEST_F(FlockStory, AnAgentRegistersWhenThePluginBeforeItHasEnded) {
  UniqueFd other = take_lock();
  begin("t4-quad", {"--enable-flock-wait"});
  expect_log("another agent is running on this node; waiting until it ends");
  EXPECT_EQ(count_events(EventKind::kRegister), 0U);
  other.reset();
  expect_allocatable(kGpu, 4);
}

TEST_F(FlockStory, TwoAgentsFollowEachOther) {
  begin("t4-quad", {"--enable-flock-wait"});
  expect_allocatable(kGpu, 4);
  auto first = std::move(agent_);
  start_agent({"--enable-flock-wait"});
  expect_log("another agent is running on this node");
  EXPECT_EQ(count_events(EventKind::kRegister), 1U);
  ASSERT_TRUE(first->signal(SIGTERM));
  ASSERT_TRUE(first->wait_for_end(kPatience));
  expect_log("the other agent has ended");
  expect_allocatable(kGpu, 4);
  EXPECT_EQ(count_events(EventKind::kRegister), 2U);
}

TEST_F(FlockStory, AnAgentThatWaitsEndsWhenItIsAskedTo) {
  const UniqueFd other = take_lock();
  begin("t4-quad", {"--enable-flock-wait"});
  expect_log("another agent is running on this node");
  stop_agent();
}

using TwoAgentsStory = NodeStory;

TEST_F(TwoAgentsStory, TheSecondOneWaitsUntilTheFirstHasEnded) {
  begin("t4-quad");
  expect_allocatable(kGpu, 4);
  auto first = std::move(agent_);
  start_agent();
  expect_log("another agent serves this node's GPUs; waiting until it ends");
  stop_agent();
  EXPECT_EQ(count_events(EventKind::kRegister), 1U);
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 4);
  start_agent();
  expect_log("another agent serves this node's GPUs");
  ASSERT_TRUE(first->signal(SIGTERM));
  ASSERT_TRUE(first->wait_for_end(kPatience));
  expect_log("registered .*nvidia.com/gpu");
  expect_allocatable(kGpu, 4);
  EXPECT_EQ(count_events(EventKind::kRegister), 2U);
}

// With a state folder of its own it knows nothing of the first, as NVIDIA's plugin would not.
TEST_F(TwoAgentsStory, TheFirstOneRegistersAgainWhenASecondOneHasComeAndGone) {
  begin("t4-quad");
  expect_allocatable(kGpu, 4);
  auto first = std::move(agent_);
  start_agent({"--state-dir=" + path("other-state")});
  expect_log("registered .*nvidia.com/gpu");
  stop_agent();
  EXPECT_TRUE(kubelet_->transcript().wait_for(EventKind::kRegister, 3, kPatience))
      << first->output();
  agent_ = std::move(first);
  expect_log("another plugin that served this resource has ended; registering again");
  expect_allocatable(kGpu, 4);
  EXPECT_TRUE(admit("pod", {{kGpu, 4}}).admitted);
}

using GcpStory = NodeStory;

TEST_F(GcpStory, AContainerGetsTheDriversFolderAndTheVulkanFolder) {
  make_node("t4-quad");
  start_kubelet();
  start_agent(
      {"--profile=gcp", "-plugin-directory=", "-container-vulkan-icd-path=/usr/share/icd.d"});
  expect_allocatable(kGpu, 4);
  const auto response = granted("pod", {{kGpu, 1}});
  EXPECT_THAT(response.mounts,
              Contains(standin::Mount{"/usr/local/nvidia", "/home/kubernetes/bin/nvidia", true}));
  EXPECT_THAT(response.mounts,
              Contains(standin::Mount{"/usr/share/icd.d",
                                      "/home/kubernetes/bin/nvidia/vulkan/icd.d", true}));
}

TEST_F(GcpStory, AnXidOfXidConfigMakesAGpuUnhealthy) {
  make_node("t4-quad");
  start_kubelet();
  start_agent({"--profile=gcp", "-plugin-directory="}, {{"XID_CONFIG", "109, x"}});
  expect_allocatable(kGpu, 4);
  expect_log("XID_CONFIG: 'x' is ignored");
  happens(sim::raise_xid(1, {.number = 109}));
  expect_allocatable(kGpu, 3);
}

class CheckConfigStory : public NodeStory {
 protected:
  CommandResult check(const std::string& content) {
    write("config.yaml", content);
    return command({"check-config", "--config-file=" + path("config.yaml")});
  }
};

TEST_F(CheckConfigStory, NamesWhatMatchesNoGpuOfTheNode) {
  make_node("t4-quad");
  const auto shown = check(
      "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpuu, replicas: 2}]}}\n"
      "tranche:\n  excludeDevices: [9]\n  policies: [{resource: a.b/x, devices: [7]}]\n");
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  EXPECT_THAT(shown.error, HasSubstr("warning: " + path("config.yaml") +
                                     ":1: sharing.timeSlicing.resources[0].name: no device is "
                                     "called nvidia.com/gpuu, so the row has no effect"));
  EXPECT_THAT(shown.error, Not(HasSubstr("which this node does not have"))) << "said above";
  EXPECT_THAT(shown.error, HasSubstr("warning: " + path("config.yaml") +
                                     ":3: tranche.excludeDevices: no GPU has index 9; the entry "
                                     "excludes nothing\n"));
  EXPECT_THAT(shown.error, HasSubstr("warning: " + path("config.yaml") +
                                     ":4: tranche.policies: a.b/x: no GPU has index 7\n"));
}

TEST_F(CheckConfigStory, TakesTheFileAsAnArgument) {
  write("config.yaml", "flags: {migStrategy: mixed}\n");
  const auto shown = command({"check-config", path("config.yaml")});
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  EXPECT_THAT(shown.output, HasSubstr(path("config.yaml") + ":1"));
  EXPECT_EQ(command({"check-config", "-o", "json", path("config.yaml")}).exit_code, 0);
  const auto twice = command({"check-config", path("config.yaml"), "--config-file=b.yaml"});
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_THAT(twice.error, HasSubstr("check-config takes one file"));
  EXPECT_THAT(command({"check-config", "a.yaml", "b.yaml"}).error,
              HasSubstr("check-config takes one file"));
}

TEST_F(CheckConfigStory, SaysWhatItCannotCheckWithoutADriver) {
  const auto named = check("tranche: {excludeDevices: [9]}\n");
  EXPECT_EQ(named.exit_code, 0) << named.error;
  EXPECT_THAT(named.error, HasSubstr("note: indexes, uuids, models and sizes were not compared "
                                     "with GPUs, because there is no driver here ("));
  EXPECT_THAT(check("flags: {migStrategy: none}\n").error, Not(HasSubstr("not compared")));
}

TEST_F(CheckConfigStory, IsWhatAnErrorInAFilePointsTo) {
  write("config.yaml", "version: v2\n");
  const auto started = command({"--config-file=" + path("config.yaml")});
  EXPECT_EQ(started.exit_code, 1);
  EXPECT_EQ(started.error,
            "tranche-device-plugin: " + path("config.yaml") +
                ":1: version: unknown version: v2 (allowed: v1)\nRun 'tranche-device-plugin "
                "check-config --config-file=" +
                path("config.yaml") +
                "' to check the file without starting anything; docs/configuration.md has every "
                "key.\n");
  EXPECT_THAT(command({"--mig-stategy=mixed"}).error,
              HasSubstr("Run 'tranche-device-plugin --help'"));
  EXPECT_EQ(command({"check-config", "--config-file=" + path("config.yaml")}).error,
            "tranche-device-plugin: " + path("config.yaml") +
                ":1: version: unknown version: v2 (allowed: v1)\n"
                "docs/configuration.md has every key.\n");
  EXPECT_EQ(command({"check-config", "--config-file=" + path("none.yaml")}).error,
            "tranche-device-plugin: configuration file: opening " + path("none.yaml") +
                ": No such file or directory\n");
}

TEST_F(CheckConfigStory, NamesPatternsThatMatchNoGpuOfTheNode) {
  make_node("hgx-h200");
  write("config.yaml",
        "version: v1\nresources: {gpus: [{pattern: '*A100*', name: a100}]}\n"
        "tranche: {excludeDevices: ['*T4*'], policies: [{resource: example.com/t4, model: "
        "'*T4*'}]}\n");
  const auto checked = command({"check-config", "--config-file=" + path("config.yaml")});
  EXPECT_EQ(checked.exit_code, 0) << checked.error;
  EXPECT_THAT(
      checked.error,
      testing::AllOf(
          HasSubstr(":3: tranche.excludeDevices: no GPU of this node has a "
                    "model like '*T4*'"),
          HasSubstr(":2: resources.gpus: no GPU of this node has a model "
                    "like '*A100*'"),
          HasSubstr(
              ":3: tranche.policies: example.com/t4 fits no device of this node (model: '*T4*')")));
}

}  // namespace
}  // namespace tranche::tests
