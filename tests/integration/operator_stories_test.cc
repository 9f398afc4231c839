// SPDX-License-Identifier: Apache-2.0
//
// The operator at 3 a.m.: which pods are on this GPU, what is wrong with it, and how it is
// reset.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "integration/node_story.h"

namespace tranche::tests {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

class OperatorStory : public NodeStory {
 protected:
  void begin_with(const std::string& world, const std::string& config = "version: v1\n") {
    make_node(world);
    start_kubelet({.pod_resources_directory = path("pods")});
    write("config.yaml", config);
    start();
    const auto parsed = node_->world();
    ASSERT_TRUE(parsed);
    for (const sim::Gpu& gpu : parsed->gpus) uuids_.push_back(gpu.uuid.text);
  }

  void start() { start_agent(flags()); }

  std::vector<std::string> flags() {
    return {"--config-file=" + path("config.yaml"), "--node-name=gpu-7",
            "--pod-resources-socket=" + kubelet_->pod_resources_path()};
  }

  CommandResult ask(std::vector<std::string> words) {
    for (std::string& flag : flags()) words.push_back(std::move(flag));
    return command(std::move(words));
  }
  Json devices() { return Json::parse(ask({"devices", "-o", "json"}).output); }

  // What the document has of the pod, once the agent has asked the kubelet.
  Json until_held_by(const std::string& pod) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      const Json document = devices();
      for (const Json& holder : document.at("holders")) {
        if (holder.at("pod") == pod) return holder;
      }
    }
    ADD_FAILURE() << pod << " is never shown as a holder\n" << agent_->output();
    return {};
  }

  std::string pci(unsigned gpu) { return to_string(node_->world()->gpus.at(gpu).pci); }

  std::vector<std::string> uuids_;
};

struct Form {
  std::string name;
  std::string world;
  std::string config;
  std::string resource;
};

std::string policy(const std::string& row) {
  return "version: v1\ntranche: {policies: [{" + row + "}]}\n";
}

class EveryFormOfSharing : public OperatorStory, public testing::WithParamInterface<Form> {};

TEST_P(EveryFormOfSharing, NamesThePodsOfAGpu) {
  begin_with(GetParam().world, GetParam().config);
  ASSERT_TRUE(kubelet_->wait_until(
      [&](const standin::NodeView& node) { return node.allocatable(GetParam().resource) > 0; },
      kPatience))
      << agent_->output();
  ASSERT_TRUE(admit("train-0", {{GetParam().resource, 1}}).admitted) << agent_->output();
  const Json holder = until_held_by("train-0");
  ASSERT_EQ(holder.at("devices").size(), 1U) << holder;
  const Json& device = holder.at("devices").at(0);
  const unsigned gpu = device.at("gpu");
  EXPECT_EQ(device.at("gpuUuid"), uuids_.at(gpu));
  EXPECT_EQ(device.at("pci"), pci(gpu));
  // What the kubelet was given is of that GPU.
  const std::string id = holder.at("ids").at(0);
  EXPECT_THAT(id, testing::StartsWith(device.at("device").get<std::string>()));
  EXPECT_THAT(ask({"devices"}).output,
              ContainsRegex("default/train-0 +main +" + GetParam().resource + " .*" + pci(gpu)));
  EXPECT_THAT(ask({"devices", "--gpu", pci(gpu)}).output,
              AllOf(HasSubstr("Node:   gpu-7"), HasSubstr("default/train-0")));
  const std::string other = uuids_.at(gpu == 0 ? 1 : 0);
  EXPECT_THAT(ask({"devices", "--gpu=" + other}).output,
              AllOf(HasSubstr("No pod holds it."), Not(HasSubstr("train-0"))));
}

INSTANTIATE_TEST_SUITE_P(
    Operator, EveryFormOfSharing,
    testing::Values(
        Form{"WholeGpus", "t4-quad", "version: v1\n", kGpu},
        Form{"MigDevices", "dgx-a100-mig-mixed", "version: v1\nflags: {migStrategy: mixed}\n",
             "nvidia.com/mig-3g.20gb"},
        Form{"TimeSlicing", "t4-quad",
             "version: v1\n"
             "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n",
             kGpu},
        Form{"ReplicasOfMig", "dgx-a100-mig-mixed",
             "version: v1\nflags: {migStrategy: mixed}\nsharing: {timeSlicing: {resources: "
             "[{name: nvidia.com/mig-3g.20gb, replicas: 2}]}}\n",
             "nvidia.com/mig-3g.20gb"},
        Form{"MemoryUnits", "t4-quad",
             policy("resource: aliyun.com/gpu-mem, share: memory, unit: 1GiB"),
             "aliyun.com/gpu-mem"},
        Form{"SharedGpus", "t4-quad",
             policy("resource: deepomatic.com/shared-gpu, share: replicas, replicas: 10"),
             "deepomatic.com/shared-gpu"},
        Form{"NodePods", "t4-quad", policy("resource: nvidia.com/gpu, dialect: nested-host"),
             kGpu}),
    [](const auto& one) { return one.param.name; });

TEST_F(OperatorStory, OnePodExplainsWhyFewerSharesAreAllocatable) {
  begin_with("t4-quad",
             "version: v1\ntranche: {policies: [{resource: nvidia.com/gpu}, {resource: "
             "aliyun.com/gpu-mem, share: memory, unit: 1GiB}]}\n");
  expect_allocatable(kGpu, 4);
  ASSERT_TRUE(admit("train-0", {{kGpu, 1}}).admitted);
  const Json holder = until_held_by("train-0");
  const std::string index = holder.at("devices").at(0).at("index");
  EXPECT_THAT(ask({"devices"}).output,
              ContainsRegex("shares of aliyun.com/gpu-mem on GPU " + index +
                            " are not offered: the whole GPU is held as nvidia.com/gpu by "
                            "default/train-0, container main"));
}

TEST_F(OperatorStory, AFaultSaysWhatClearsItAlsoWhereNoAgentRuns) {
  begin_with("t4-quad");
  expect_allocatable(kGpu, 4);
  happens(sim::raise_xid(2, {.number = 79, .route = sim::Xid::Route::kBoth}));
  expect_allocatable(kGpu, 3);
  const auto has_it = AllOf(HasSubstr("UNHEALTHY"), HasSubstr("XID 79: the GPU fell off the bus"),
                            HasSubstr("cleared by: a reset of the GPU or a reboot of the node"));
  EXPECT_THAT(ask({"devices", "--gpu", "2"}).output, has_it);
  stop_agent();
  const auto shown = ask({"devices", "--gpu", uuids_[2]});
  EXPECT_THAT(shown.output, AllOf(has_it, HasSubstr("Agent:  not running here")));
  EXPECT_THAT(ask({"devices"}).output, HasSubstr("faults.json"));
}

TEST_F(OperatorStory, PodsAreNamedAlsoWhereNoAgentRuns) {
  begin_with("t4-quad");
  expect_allocatable(kGpu, 4);
  ASSERT_TRUE(admit("train-0", {{kGpu, 1}}).admitted);
  until_held_by("train-0");
  stop_agent();
  EXPECT_THAT(ask({"devices"}).output,
              ContainsRegex("default/train-0 +main +nvidia.com/gpu +1 +[0-3] +GPU-"));
}

TEST_F(OperatorStory, ReleaseNamesThePodsAndClosesTheDriver) {
  begin_with("t4-quad");
  expect_allocatable(kGpu, 4);
  ASSERT_TRUE(admit("train-0", {{kGpu, 1}}).admitted);
  const Json device = until_held_by("train-0").at("devices").at(0);
  const std::string uuid = device.at("gpuUuid");
  const auto released = ask({"release", uuid.substr(0, 12)});
  EXPECT_EQ(released.exit_code, 0) << released.error;
  EXPECT_THAT(released.output,
              AllOf(HasSubstr("node gpu-7\n"),
                    HasSubstr("released GPU " + device.at("index").get<std::string>() + " (" +
                              uuid + ", PCI address " + device.at("pci").get<std::string>() + ")"),
                    HasSubstr("held by default/train-0, container main, as nvidia.com/gpu"),
                    HasSubstr("driver closed\n")));
  expect_log("release asked for.*held by default/train-0");
  EXPECT_THAT(ask({"devices"}).output, HasSubstr("Driver: closed by 'release' since"));
}

TEST_F(OperatorStory, ReleaseDoesNotNameAPodThatHasEnded) {
  begin_with("t4-quad");
  expect_allocatable(kGpu, 4);
  ASSERT_TRUE(admit("train-0", {{kGpu, 1}}).admitted);
  const std::string uuid = until_held_by("train-0").at("devices").at(0).at("gpuUuid");
  remove("train-0");
  const auto released = ask({"release", uuid});
  EXPECT_THAT(released.output, AllOf(HasSubstr("no pod holds it"), Not(HasSubstr("train-0"))));
}

TEST_F(OperatorStory, AReleaseHoldsOverARestartUntilResume) {
  begin_with("t4-quad");
  expect_allocatable(kGpu, 4);
  ASSERT_EQ(ask({"release", "2"}).exit_code, 0);
  expect_allocatable(kGpu, 3);
  kill_agent();
  // Without an agent the driver stays closed as well: commands do not open it.
  EXPECT_THAT(ask({"devices"}).output,
              AllOf(HasSubstr("Driver: closed by 'release'"), HasSubstr("released on request")));
  start();
  expect_log("the driver stays closed: it was released before this start");
  expect_allocatable(kGpu, 3);
  expect_capacity(kGpu, 4);
  happens(sim::reset(2));
  const auto resumed = ask({"resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.error;
  EXPECT_THAT(resumed.output,
              AllOf(HasSubstr("node gpu-7\ndriver open\n"),
                    HasSubstr("GPU 2 (" + uuids_[2] + ", PCI address " + pci(2) + "): healthy")));
  expect_allocatable(kGpu, 4);
  EXPECT_THAT(ask({"resume"}).output, HasSubstr("nothing is released here"));
}

TEST_F(OperatorStory, AReleaseWaitsForACallThatHangsAndSaysSo) {
  begin_with("t4-quad");
  expect_allocatable(kGpu, 4);
  happens(sim::block_call("nvmlDeviceGetUUID", sim::GpuRef(1U)));
  stop_agent();
  start_agent({"--config-file=" + path("config.yaml"), "--driver-call-timeout=300ms",
               "--pod-resources-socket=" + kubelet_->pod_resources_path()});
  expect_log("gpu does not answer|does not return");
  const auto released = ask({"release", "2"});
  EXPECT_EQ(released.exit_code, 1);
  EXPECT_THAT(released.error, AllOf(HasSubstr("driver NOT closed after 1200 ms"),
                                    HasSubstr("a driver call of the agent has not returned")));
  happens(sim::clear_faults());
}

TEST_F(OperatorStory, ReleaseOfAnEmptySlotSaysThatItIsEmpty) {
  begin_with("t4-quad");
  expect_allocatable(kGpu, 4);
  happens(sim::unplug(3));
  expect_capacity(kGpu, 3);
  const auto refused = ask({"release", "3"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("GPU 3 is not there"), HasSubstr("is empty now"),
                                   HasSubstr(uuids_[3]), HasSubstr("Tesla T4")));
}

TEST_F(OperatorStory, NumbersThatCannotBeReadAreSaid) {
  make_node("t4-quad");
  write("state/gpu-numbers.json", "{");
  const auto shown = command({"numbers"});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_THAT(shown.error, HasSubstr("cannot read the GPU numbers"));
  EXPECT_THAT(command({"devices"}).output, HasSubstr("cannot read the GPU numbers"));
}

TEST_F(OperatorStory, AResourceThatCannotBeEnforcedSaysWhatItDemands) {
  begin_with(
      "t4-quad",
      policy("resource: aliyun.com/gpu-mem, share: memory, unit: 1GiB, enforcement: driver"));
  expect_capacity("aliyun.com/gpu-mem", 60);
  EXPECT_THAT(ask({"devices"}).output,
              AllOf(HasSubstr("driver (not possible)"), HasSubstr("r615 or newer")));
}

}  // namespace
}  // namespace tranche::tests
