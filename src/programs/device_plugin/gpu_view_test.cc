// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"
#include "programs/device_plugin/node_status.h"

namespace tranche::programs {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMemory = "aliyun.com/gpu-mem";
constexpr const char* kFell = "XID 79: the GPU fell off the bus";

Holding held(const char* resource, const std::string& pod, std::vector<std::string> shares) {
  return {
      .resource = resource, .holder = {"default", pod, "", "main"}, .shares = std::move(shares)};
}

// Three GPUs of 8 GiB, whole and by memory. GPU 1 has a fault and is released; a pod has all
// of GPU 0, another one 2 GiB of GPU 2.
NodeStatus a_status() {
  NodeStatus status{.node_name = "gpu-7", .agent = {.running = true, .started = "today"}};
  status.inventory = a_node(3);
  for (Gpu& gpu : status.inventory.gpus) {
    gpu.memory_bytes = 8ULL << 30U;
    gpu.driver_index = gpu.index;
    status.inventory.numbers[gpu.index] = {*gpu.pci, gpu.uuid, gpu.model};
  }
  status.inventory.gpus[1].health.troubles = {kFell};
  status.inventory.remedies = {{"GPU-1", kFell, "a reset of the GPU"}};
  status.inventory.released = {GpuUuid("GPU-1")};
  ResourcePolicy whole{.resource = ResourceName("nvidia.com/gpu")};
  ResourcePolicy memory{.resource = ResourceName(kMemory), .unit = 1ULL << 30U};
  memory.terms.form = ShareForm::kMemory;
  status.catalog = offer(status.inventory, {.policies = {whole, memory}});
  const std::string tag = share_tag(ResourceName(kMemory));
  status.ledger =
      Ledger{{held(kMemory, "notebook", {share_id("GPU-2", tag, 0), share_id("GPU-2", tag, 1)}),
              held("nvidia.com/gpu", "train-0", {"GPU-0"})}};
  return status;
}

std::string tables(const NodeStatus& status) {
  const Result<std::string> text = status_tables(to_json(status));
  return text ? *text : text.error().message;
}

std::string view(const std::string& word, const NodeStatus& status = a_status()) {
  const Result<std::string> json = gpu_json(to_json(status), word);
  if (!json) return json.error().message;
  const Result<std::string> text = gpu_text(*json);
  return text ? *text : text.error().message;
}

TEST(StatusTables, NameTheNodeAndTheGpuOfEveryHolder) {
  EXPECT_THAT(
      tables(a_status()),
      AllOf(HasSubstr("Node:   gpu-7\n"),
            ContainsRegex("HELD BY +CONTAINER +RESOURCE +AMOUNT +GPU +UUID +PCI"),
            ContainsRegex("default/notebook +main +aliyun.com/gpu-mem +2 \\(2.0 GiB\\) +2 "
                          "+GPU-2 +0000:12:00.0"),
            ContainsRegex("default/train-0 +main +nvidia.com/gpu +1 +0 +GPU-0 +0000:10:00.0")));
}

TEST(StatusTables, SayWhyFewerSharesAreAllocatableThanHealthy) {
  EXPECT_THAT(
      tables(a_status()),
      AllOf(ContainsRegex("aliyun.com/gpu-mem +3 +24 +16 +8 "),
            HasSubstr("8 shares of aliyun.com/gpu-mem on GPU 0 are not offered: the whole GPU is "
                      "held as nvidia.com/gpu by default/train-0, container main\n"),
            HasSubstr("1 share of nvidia.com/gpu on GPU 2 is not offered: 2048 MiB of its memory "
                      "is held as aliyun.com/gpu-mem by default/notebook, container main\n")));
}

TEST(StatusTables, SayWhatClearsAFault) {
  EXPECT_THAT(tables(a_status()), HasSubstr("GPU 1: XID 79: the GPU fell off the bus\n"
                                            "  cleared by: a reset of the GPU\n"));
}

TEST(StatusTables, SayThatPermissionWasDeniedAndNotThatNoAgentRuns) {
  NodeStatus status = a_status();
  status.agent = {.problem = "permission denied: /state/control.sock is for root alone"};
  EXPECT_THAT(tables(status), AllOf(HasSubstr("Agent:  not asked: permission denied"),
                                    Not(HasSubstr("not running"))));
  EXPECT_TRUE(nlohmann::json::parse(to_json(status)).at("agent").at("running").is_null());
}

TEST(StatusTables, SayThatTheDriverIsReleased) {
  NodeStatus status = a_status();
  status.inventory.released_at = 1'760'000'000;
  EXPECT_THAT(tables(status), HasSubstr("Driver: closed by 'release' since 2025-10-09T08:53:20Z"));
  const auto driver = nlohmann::json::parse(to_json(status)).at("driver");
  EXPECT_EQ(driver.at("closed"), true);
  EXPECT_EQ(driver.at("notClosedBecause"), "");
}

TEST(StatusTables, SayThatTheDriverIsReleasedAndNotClosed) {
  NodeStatus status = a_status();
  EXPECT_EQ(nlohmann::json::parse(to_json(status)).at("driver").at("closed"), false);
  status.inventory.released_at = 1'760'000'000;
  status.inventory.still_open = "a driver call has not returned";
  EXPECT_THAT(tables(status), HasSubstr("Driver: released, but NOT closed: a driver call has not "
                                        "returned; do not reset yet\n"));
  const auto driver = nlohmann::json::parse(to_json(status)).at("driver");
  EXPECT_EQ(driver.at("closed"), false);
  EXPECT_EQ(driver.at("notClosedBecause"), "a driver call has not returned");
}

TEST(StatusTables, SayOnceThatTheDriverCannotBeRead) {
  NodeStatus status = a_status();
  status.inventory.driver = DriverKind::kNone;
  status.inventory.driver_trouble = "Driver Not Loaded";
  for (Gpu& gpu : status.inventory.gpus) {
    gpu.health.troubles = {"driver: Driver Not Loaded"};
    status.inventory.remedies.push_back({gpu.uuid.text, "driver: Driver Not Loaded", "it is back"});
  }
  const std::string text = tables(status);
  EXPECT_THAT(text, AllOf(HasSubstr("\nall GPUs: the driver cannot be read; on the node: "
                                    "`nvidia-smi`, `dmesg | grep NVRM`\n"),
                          HasSubstr("Driver: not reached: Driver Not Loaded\n"),
                          Not(HasSubstr("it is back"))));
  EXPECT_THAT(text, HasSubstr("UNHEALTHY: the driver cannot be read\n"));
}

TEST(StatusTables, SayThatHoldersAreNotKnown) {
  NodeStatus status = a_status();
  status.ledger.reset();
  status.ledger_problem = "there is no folder /pods; mount it";
  EXPECT_THAT(tables(status),
              HasSubstr("Which pods hold what is not known: there is no folder /pods; mount it\n"));
}

TEST(StatusTables, SayWhatIsDemandedAndNotPossible) {
  NodeStatus status = a_status();
  Offer& memory = status.catalog.offers[0];
  memory.terms.demanded = Enforcement::kDriver;
  memory.devices[0].health.troubles = {"this driver cannot"};
  EXPECT_THAT(tables(status), HasSubstr("driver (not possible)"));
  const auto terms = nlohmann::json::parse(to_json(status)).at("resources").at(0).at("terms");
  EXPECT_EQ(terms.at("enforcement"), "none");
  EXPECT_EQ(terms.at("enforcementDemanded"), "driver");
  EXPECT_THAT(view("0", status), ContainsRegex("driver \\(not possible\\).*this driver cannot"));
}

TEST(GpuView, SaysThatAHealthyGpuOffersNothing) {
  NodeStatus status = a_status();
  for (Offer& offer : status.catalog.offers) {
    for (OfferedDevice& device : offer.devices) {
      if (device.uuid == "GPU-2") {
        device.health.troubles = {"MPS: the MPS daemon gpu-2 is in trouble"};
      }
    }
  }
  status.mps = {{.plan = {.name = "gpu-2", .devices = {"GPU-2"}}, .state = MpsState::kTrouble}};
  EXPECT_THAT(
      view("2", status),
      AllOf(HasSubstr("Health: healthy; 0 of 9 shares usable\n  MPS: the MPS daemon gpu-2 is "
                      "in trouble\n    cleared by: "),
            HasSubstr("the agent restarts it by itself")));
  EXPECT_THAT(view("0", status), HasSubstr("Health: healthy\n"));
  status.mps.clear();
  EXPECT_THAT(view("2", status), HasSubstr("not one of the agent's"));
}

TEST(StatusTables, NameTheGpuOfAnMpsDaemonAndWhenItsLastProblemWas) {
  NodeStatus status = a_status();
  const std::chrono::system_clock::time_point when{std::chrono::seconds(1'760'000'000)};
  status.mps = {{.plan = {.name = "d", .devices = {"GPU-2"}},
                 .state = MpsState::kReady,
                 .since = when,
                 .last_problem = "it ended",
                 .last_problem_at = when}};
  EXPECT_THAT(tables(status),
              AllOf(ContainsRegex("MPS DAEMON +GPU +STATE "),
                    ContainsRegex("\nd +2 +ready .* 2025-10-09T08:53:20Z: it ended\n")));
  status.inventory.released_at = 1'760'000'000;
  const auto json = nlohmann::json::parse(to_json(status));
  EXPECT_EQ(json.at("mpsDaemons").at(0).at("sinceTime"), "2025-10-09T08:53:20Z");
  EXPECT_EQ(json.at("mpsDaemons").at(0).at("lastProblemTime"), "2025-10-09T08:53:20Z");
  EXPECT_EQ(json.at("driver").at("releasedAtTime"), "2025-10-09T08:53:20Z");
}

TEST(StatusTables, GiveWholeGpusNoEnforcementAndNoCountedMemory) {
  EXPECT_THAT(tables(a_status()),
              ContainsRegex("nvidia.com/gpu +whole +- +- +nvidia +- +1 +[0-9]+\n"));
  const auto json = nlohmann::json::parse(to_json(a_status()));
  for (const auto& holder : json.at("holders")) {
    EXPECT_EQ(holder.at("devices").at(0).at("memoryBytes").is_null(),
              holder.at("resource") == "nvidia.com/gpu");
  }
}

TEST(StatusTables, SayWhereAResourceStandsWithTheKubelet) {
  NodeStatus status = a_status();
  status.resources = {{.resource = "nvidia.com/gpu", .phase = RegistrationPhase::kUp},
                      {.resource = kMemory, .registers = false}};
  EXPECT_THAT(tables(status),
              AllOf(ContainsRegex("nvidia.com/gpu +3 +3 +2 +[0-9]+ +registered\n"),
                    ContainsRegex("aliyun.com/gpu-mem +3 +24 +16 +8 +not registering "
                                  "\\(--kubelet-socket is empty\\)\n")));
}

TEST(GpuView, ShowsHealthResourcesAndHoldersOfOneGpu) {
  for (const char* word : {"1", "GPU-1", "0000:11:00.0", "11:00.0"}) {
    EXPECT_THAT(
        view(word),
        AllOf(HasSubstr("Node:   gpu-7\n"),
              HasSubstr("GPU 1: NVIDIA H100 80GB HBM3, 8.0 GiB, GPU-1, PCI address 0000:11:00.0"),
              HasSubstr("Health: UNHEALTHY\n  XID 79: the GPU fell off the bus\n    cleared by: a "
                        "reset of the GPU\n"),
              ContainsRegex("aliyun.com/gpu-mem +1 +8 +0 +0 "), HasSubstr("No pod holds it."),
              Not(HasSubstr("train-0"))));
  }
  EXPECT_THAT(view("0"), AllOf(HasSubstr("Health: healthy"), HasSubstr("default/train-0"),
                               HasSubstr("8 shares of aliyun.com/gpu-mem on GPU 0 are not offered"),
                               Not(HasSubstr("notebook"))));
}

TEST(GpuView, HasTheSameAsJson) {
  const auto json = nlohmann::json::parse(*gpu_json(to_json(a_status()), "2"));
  EXPECT_EQ(json.at("node"), "gpu-7");
  EXPECT_EQ(json.at("gpu").at("uuid"), "GPU-2");
  ASSERT_EQ(json.at("holders").size(), 1U);
  EXPECT_EQ(json.at("holders").at(0).at("pod"), "notebook");
  const auto& device = json.at("holders").at(0).at("devices").at(0);
  EXPECT_EQ(device.at("gpu"), 2);
  EXPECT_EQ(device.at("gpuUuid"), "GPU-2");
  EXPECT_EQ(device.at("pci"), "0000:12:00.0");
  EXPECT_EQ(device.at("memoryBytes"), 2ULL << 30U);
  EXPECT_EQ(json.at("resources").size(), 2U);
}

TEST(GpuView, ShowsThePodOfAMigDevice) {
  NodeStatus status{.node_name = "gpu-7", .agent = {.running = true}};
  status.inventory = an_inventory({a_gpu(0), a_cut_gpu(1, {k1g10gb, k3g40gb})});
  status.catalog = offer(status.inventory, {.mig = MigStrategy::kMixed});
  status.ledger = Ledger{{held("nvidia.com/mig-3g.40gb", "slice", {"MIG-1-1"})}};
  for (const char* word : {"1", "MIG-1-0"}) {
    EXPECT_THAT(view(word, status),
                AllOf(HasSubstr("MIG device 1:1, 3g.40gb, MIG-1-1: healthy"),
                      ContainsRegex("default/slice +main +nvidia.com/mig-3g.40gb +1 +1:1 +MIG-1-1 "
                                    "+0000:11:00.0")));
  }
  EXPECT_THAT(view("0", status), HasSubstr("No pod holds it."));
}

TEST(HolderPods, AreALineEachForOtherPrograms) {
  NodeStatus status = a_status();
  status.ledger->holdings.push_back(held("nvidia.com/gpu", "train-0", {"GPU-0"}));
  EXPECT_EQ(holder_pods(to_json(status))->lines, "default notebook\ndefault train-0\n");
  EXPECT_EQ(holder_pods(*gpu_json(to_json(status), "2"))->lines, "default notebook\n");
  EXPECT_EQ(holder_pods(*gpu_json(to_json(status), "1"))->lines, "");
}

TEST(HolderPods, AreNotNoneWhereTheyAreNotKnown) {
  NodeStatus status = a_status();
  status.ledger->holdings[1].holder = {.pod_uid = "u-1"};
  status.ledger_problem = "--pod-resources-socket is empty";
  EXPECT_THAT(
      holder_pods(to_json(status))->unnamed,
      testing::ElementsAre("the pod with uid u-1 holds a GPU, too, and its name is not known "
                           "(--pod-resources-socket is empty); to find it: kubectl get pods -A -o "
                           "custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,"
                           "UID:.metadata.uid | grep u-1"));
  EXPECT_THAT(tables(status),
              AllOf(HasSubstr("Some pods are known by their uid alone: --pod-resources-socket is "
                              "empty\n  to find them: kubectl get pods -A "),
                    HasSubstr("UID:.metadata.uid | grep u-1\n"), Not(HasSubstr("not known"))));
  EXPECT_THAT(view("2", status), Not(HasSubstr("not known")));
  status.ledger->holdings.push_back(status.ledger->holdings[1]);
  status.ledger->holdings.push_back(held("nvidia.com/gpu", "", {"GPU-0"}));
  status.ledger->holdings[3].holder = {.pod_uid = "u-2"};
  EXPECT_THAT(tables(status), HasSubstr(" | grep -E 'u-1|u-2'\n")) << "each once";
  status.ledger->holdings.resize(2);
  status.ledger->holdings[1].holder = {};
  EXPECT_THAT(holder_pods(to_json(status))->unnamed,
              testing::ElementsAre(HasSubstr("being made holds a GPU, too")));
  status.ledger.reset();
  status.ledger_problem = "the kubelet does not answer";
  EXPECT_THAT(holder_pods(to_json(status)).error().message,
              HasSubstr("not known: the kubelet does not answer"));
}

TEST(GpuView, SaysThatThereIsNoSuchGpuAndOnWhichNode) {
  EXPECT_EQ(view("9"), "node gpu-7: there is no GPU '9'; name it by uuid, index or PCI address");
}

}  // namespace
}  // namespace tranche::programs
