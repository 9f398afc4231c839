// SPDX-License-Identifier: Apache-2.0
//
// The program between the kubelet's stand-in and a plugin that does what it is
// told, and once between the stand-in and the real agent. The transcript goes to
// its output, where a test can wait for a line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "testbed/kubelet/kubelet.h"
#include "testbed/kubelet/plugin_client.h"
#include "testbed/kubelet/scripted_plugin.h"
#include "testbed/node/simulated_node.h"
#include "testbed/process/agent_process.h"
#include "testbed/recorder/event_json.h"
#include "testbed/worlds/builtin.h"

namespace tranche::testbed::recorder {
namespace {

using namespace tranche::testbed::standin;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr std::chrono::seconds kPatience{60};

class RecorderProgram : public testing::Test {
 protected:
  RecorderProgram() : kubelet_({.directory = dir_.path("k")}) {
    std::filesystem::create_directories(dir_.path("p"));
  }

  void start() {
    const Status started = kubelet_.start();
    ASSERT_TRUE(started) << started.error().message;
    start_recorder("/dev/stdout");
    ASSERT_TRUE(wait_for(R"("call":"KubeletCame")"));
  }

  void start_recorder(const std::string& transcript) {
    auto process = AgentProcess::start(
        {.command = {RECORDER_PROGRAM, "--kubelet-folder", dir_.path("k"), "--plugin-folder",
                     dir_.path("p"), "--transcript", transcript}});
    ASSERT_TRUE(process) << process.error().message;
    recorder_ = *std::move(process);
  }

  void stop_recorder() {
    ASSERT_TRUE(recorder_->signal(SIGTERM));
    const auto end = recorder_->wait_for_end(kPatience);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(*end, (ProcessEnd{.exit_code = 0})) << recorder_->output();
  }

  std::unique_ptr<ScriptedPlugin> registered(ScriptedPlugin::Script script = {}) {
    auto plugin = std::make_unique<ScriptedPlugin>(dir_.path("p"), "gpu.sock", std::move(script));
    plugin->publish(healthy_devices(2));
    const grpc::Status status = plugin->register_as(kGpu);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(kubelet_.wait_for_allocatable(kGpu, 2, kPatience));
    return plugin;
  }

  static Pod pod_of(std::int64_t count) {
    return {.uid = "a", .name = "a", .containers = {{"main", {{kGpu, count}}}}};
  }

  bool wait_for(const std::string& regex) {
    const auto found = recorder_->wait_for_line(regex, kPatience);
    EXPECT_TRUE(found) << found.error().message;
    return static_cast<bool>(found);
  }

  // All that is written so far, in the order of the beginnings.
  std::vector<Json> events() const {
    std::vector<Json> all;
    for (const AgentProcess::Line& line : recorder_->lines()) {
      if (line.stream == AgentProcess::Stream::kOutput) all.push_back(Json::parse(line.text));
    }
    std::ranges::sort(all, {}, [](const Json& event) { return event["n"].get<int>(); });
    return all;
  }
  std::vector<std::string> calls() const {
    std::vector<std::string> names;
    for (const Json& event : events()) names.push_back(event["call"]);
    return names;
  }
  Json last(const std::string& call) const {
    Json found;
    for (const Json& event : events()) {
      if (event["call"] == call) found = event;
    }
    return found;
  }

  // Ours in the kubelet's folder.
  std::vector<std::string> sockets() const {
    std::vector<std::string> names = *list_directory(dir_.path("k"));
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("rec-"); });
    return names;
  }

  const TempDir dir_;
  Kubelet kubelet_;
  std::unique_ptr<AgentProcess> recorder_;
};

ScriptedPlugin::Script talkative() {
  return {.options = {.pre_start_required = true, .preferred_allocation_available = true},
          .on_preferred =
              [](auto& request, auto& answer) {
                answer.add_container_responses()->add_deviceids(request.available_deviceids(0));
                return grpc::Status::OK;
              },
          .on_allocate =
              [](auto& request, auto& answer) {
                (*answer.add_container_responses()->mutable_envs())["GIVEN"] =
                    request.container_requests(0).devices_ids(0);
                return grpc::Status::OK;
              }};
}

TEST_F(RecorderProgram, LetsAPodThroughAndWritesDownEveryCallInOrder) {
  start();
  const auto plugin = registered(talkative());
  const AdmissionResult result = kubelet_.admit(pod_of(1));
  ASSERT_TRUE(result.admitted) << result.message;
  ASSERT_TRUE(kubelet_.start_container(pod_of(1), "main"));
  ASSERT_TRUE(wait_for("PreStartContainer"));

  EXPECT_THAT(calls(), ElementsAre("KubeletCame", "Register", "GetDevicePluginOptions",
                                   "ListAndWatchOpened", "ListAndWatchReceived",
                                   "GetPreferredAllocation", "Allocate", "PreStartContainer"));
  const Json registered = last("Register");
  EXPECT_EQ(registered["resource"], kGpu);
  EXPECT_EQ(registered["endpoint"], "gpu.sock");
  EXPECT_EQ(registered["version"], "v1beta1");
  EXPECT_FALSE(registered.contains("error"));
  EXPECT_EQ(last("GetDevicePluginOptions")["answer"].dump(),
            R"({"pre_start_required":true,"get_preferred_allocation_available":true})");
  EXPECT_EQ(last("ListAndWatchReceived")["devices"].dump(),
            R"([{"id":"id0","health":"Healthy"},{"id":"id1","health":"Healthy"}])");
  const auto asked = plugin->preferred_requests().at(0);
  const Json preferred = last("GetPreferredAllocation");
  EXPECT_THAT(preferred["containers"][0]["available"],
              ElementsAre(asked.available_deviceids(0), asked.available_deviceids(1)));
  const std::string& given = asked.available_deviceids(0);
  EXPECT_EQ(preferred["answer"].dump(), R"({"containers":[{"ids":[")" + given + R"("]}]})");
  const Json allocated = last("Allocate");
  EXPECT_EQ(allocated["containers"].dump(), R"([{"ids":[")" + given + R"("]}])");
  EXPECT_EQ(allocated["answer"]["containers"][0]["envs"]["GIVEN"], given);
  EXPECT_EQ(result.containers.at(0).response.envs.at("GIVEN"), given);
  EXPECT_THAT(last("PreStartContainer")["ids"], ElementsAre(given));
  EXPECT_THAT(sockets(), ElementsAre(allocated["socket"].get<std::string>()));
}

TEST_F(RecorderProgram, PassesAnErrorOnWithCodeAndMessage) {
  start();
  const auto plugin = registered({.on_allocate = [](auto&, auto&) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no id9 here");
  }});
  const AdmissionResult result = kubelet_.admit(pod_of(1));
  EXPECT_FALSE(result.admitted);
  EXPECT_THAT(result.message, HasSubstr("rpc error: code = NotFound desc = no id9 here"));
  ASSERT_TRUE(wait_for("Allocate"));
  EXPECT_EQ(last("Allocate")["error"].dump(), R"({"code":"NotFound","message":"no id9 here"})");
}

TEST_F(RecorderProgram, PassesOnWhatItDoesNotKnow) {
  const std::string unknown = "\xfa\x06\x03xyz";  // field 111, three bytes
  start();
  const auto plugin = registered({.on_allocate = [&](auto&, auto& answer) {
    answer.ParseFromString(unknown);
    return grpc::Status::OK;
  }});
  const auto stub = v1beta1::DevicePlugin::NewStub(grpc::CreateChannel(
      "unix:" + dir_.path("k/") + sockets().at(0), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.ParseFromString(unknown);
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(stub->Allocate(&context, request, &response).ok());
  EXPECT_EQ(response.SerializeAsString(), unknown);
  EXPECT_EQ(plugin->allocate_requests().at(0).SerializeAsString(), unknown);
}

TEST_F(RecorderProgram, HandsThePluginTheKubeletsRefusal) {
  start();
  ScriptedPlugin plugin(dir_.path("p"), "gpu.sock");
  const grpc::Status status = plugin.register_as(kGpu, "v0");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_THAT(status.error_message(), HasSubstr("v0"));
  ASSERT_TRUE(wait_for("\"Register\""));
  EXPECT_EQ(last("Register")["error"]["code"], "Unknown");
  EXPECT_EQ(last("Register")["error"]["message"], status.error_message());
  EXPECT_THAT(sockets(), IsEmpty());
}

TEST_F(RecorderProgram, LeavesTheLimitsOfMessagesToTheKubelet) {
  ASSERT_TRUE(kubelet_.start());
  start_recorder(dir_.path("transcript"));
  const auto plugin = registered();
  plugin->publish({{std::string(kLargestReceivedMessage, 'x'), "Healthy", {}}});
  ASSERT_TRUE(kubelet_.transcript().wait_for(EventKind::kListAndWatchEnded, 1, kPatience));
  EXPECT_THAT(kubelet_.transcript().calls(EventKind::kListAndWatchEnded).at(0).error,
              HasSubstr("ResourceExhausted"));
  ASSERT_TRUE(plugin->wait_for_ended_streams(1, kPatience));
  stop_recorder();
  EXPECT_GT(read_file(dir_.path("transcript"))->size(), std::size_t{kLargestReceivedMessage});
}

TEST_F(RecorderProgram, EndsTheStreamAsThePluginDoes) {
  start();
  const auto plugin = registered();
  plugin->end_streams({grpc::StatusCode::ABORTED, "enough"});
  ASSERT_TRUE(kubelet_.transcript().wait_for(EventKind::kListAndWatchEnded, 1, kPatience));
  EXPECT_EQ(kubelet_.transcript().calls(EventKind::kListAndWatchEnded).at(0).error,
            "rpc error: code = Aborted desc = enough");
  ASSERT_TRUE(wait_for("ListAndWatchEnded"));
  EXPECT_EQ(last("ListAndWatchEnded")["by"], "plugin");
  EXPECT_EQ(last("ListAndWatchEnded")["error"].dump(), R"({"code":"Aborted","message":"enough"})");
}

TEST_F(RecorderProgram, CancelsThePluginsStreamWhenTheKubeletCancels) {
  start();
  const auto plugin = registered();
  ASSERT_TRUE(kubelet_.break_stream(kGpu));
  EXPECT_TRUE(plugin->wait_for_ended_streams(1, kPatience));
  ASSERT_TRUE(wait_for("ListAndWatchEnded"));
  EXPECT_EQ(last("ListAndWatchEnded")["by"], "kubelet");
}

TEST_F(RecorderProgram, CutsOffAPluginThatRemovesItsSocketButNotItsStream) {
  start();
  const auto plugin = registered();
  std::filesystem::remove(dir_.path("p/gpu.sock"));
  ASSERT_TRUE(kubelet_.transcript().wait_for(EventKind::kListAndWatchEnded, 1, kPatience));
  ASSERT_TRUE(wait_for("ListAndWatchEnded"));
  EXPECT_EQ(last("ListAndWatchEnded")["why"], "the plugin's socket is gone");
  EXPECT_THAT(sockets(), IsEmpty());
}

TEST_F(RecorderProgram, IsNoKubeletWhileThereIsNone) {
  start();
  const auto plugin = registered();
  kubelet_.stop();
  ASSERT_TRUE(wait_for(R"("call":"KubeletGone")"));
  ASSERT_TRUE(wait_for("ListAndWatchEnded"));
  EXPECT_FALSE(path_exists(dir_.path("p/kubelet.sock")));
  ASSERT_TRUE(kubelet_.start());
  EXPECT_TRUE(plugin->register_as(kGpu).ok());
  EXPECT_TRUE(kubelet_.wait_for_allocatable(kGpu, 2, kPatience));
  const std::vector<std::string> names = calls();
  const auto gone = std::ranges::find(names, "KubeletGone");
  EXPECT_NE(std::find(gone, names.end(), "KubeletCame"), names.end());
}

TEST_F(RecorderProgram, WaitsForAKubeletThatComesLater) {
  std::filesystem::create_directories(dir_.path("k"));
  start_recorder("/dev/stdout");
  ASSERT_TRUE(kubelet_.start());
  const auto plugin = registered();
  EXPECT_THAT(calls(), testing::Contains("KubeletCame"));
}

TEST_F(RecorderProgram, RemovesItsSocketsWhenItIsToldToEnd) {
  ASSERT_TRUE(kubelet_.start());
  start_recorder(dir_.path("transcript"));
  const auto plugin = registered();
  stop_recorder();
  EXPECT_THAT(sockets(), IsEmpty());
  EXPECT_FALSE(path_exists(dir_.path("p/kubelet.sock")));
  EXPECT_THAT(*read_file(dir_.path("transcript")),
              AllOf(HasSubstr(R"("call":"Register")"), HasSubstr(R"("why":"the recorder ends")")));
}

TEST_F(RecorderProgram, TakesThePlaceOfOneThatWasKilled) {
  start();
  ASSERT_TRUE(recorder_->signal(SIGKILL));
  ASSERT_TRUE(recorder_->wait_for_end(kPatience));
  ASSERT_TRUE(path_exists(dir_.path("p/kubelet.sock")));
  start_recorder("/dev/stdout");
  const auto plugin = registered();
}

TEST_F(RecorderProgram, DoesNotTakeTheFolderOfAnother) {
  start();
  const auto first = std::move(recorder_);
  start_recorder("/dev/stdout");
  EXPECT_EQ(*recorder_->wait_for_end(kPatience), (ProcessEnd{.exit_code = 1}));
  EXPECT_THAT(recorder_->output(),
              HasSubstr("error: " + dir_.path("p/kubelet.sock") + " is in use"));
}

TEST_F(RecorderProgram, NamesTheFlagWhoseFolderItCannotUse) {
  start_recorder("/dev/stdout");  // no kubelet's folder yet
  EXPECT_EQ(*recorder_->wait_for_end(kPatience), (ProcessEnd{.exit_code = 1}));
  EXPECT_THAT(recorder_->output(), HasSubstr("error: --kubelet-folder: watching " + dir_.path("k") +
                                             ": No such file or directory"));
  start_recorder("/nowhere/t");
  EXPECT_EQ(*recorder_->wait_for_end(kPatience), (ProcessEnd{.exit_code = 1}));
  EXPECT_THAT(recorder_->output(), HasSubstr("error: --transcript: opening /nowhere/t: "));
}

// The real agent on a simulated node.
class RecordedAgent : public RecorderProgram {
 protected:
  void start_agent() {
    const auto world = sim::builtin_world("hgx-h200");
    ASSERT_TRUE(world) << world.error().message;
    const auto node = sim::SimulatedNode::create(dir_.path("root"), *world, {.plain_files = true});
    ASSERT_TRUE(node) << node.error().message;
    auto agent = AgentProcess::start(
        {.command = {TRANCHE_AGENT, "--kubelet-socket=" + dir_.path("p/kubelet.sock"),
                     "--driver-root-ctr-path=" + dir_.path("root"),
                     "--host-root=" + dir_.path("root"), "--state-dir=" + dir_.path("state"),
                     "--cdi-dir=" + dir_.path("cdi")}});
    ASSERT_TRUE(agent) << agent.error().message;
    agent_ = *std::move(agent);
    ASSERT_TRUE(kubelet_.wait_for_allocatable(kGpu, 8, kPatience)) << agent_->output();
  }

  std::unique_ptr<AgentProcess> agent_;
};

TEST_F(RecordedAgent, GetsAPodAndRegistersAgainWithAKubeletThatRestarts) {
  start();
  start_agent();
  ASSERT_TRUE(kubelet_.restart());
  ASSERT_TRUE(kubelet_.wait_for_allocatable(kGpu, 8, kPatience)) << agent_->output();
  EXPECT_EQ(std::ranges::count(calls(), "KubeletCame"), 2);
  const AdmissionResult result = kubelet_.admit(pod_of(2));
  EXPECT_TRUE(result.admitted) << result.message;
  ASSERT_TRUE(wait_for("\"Allocate\""));
  EXPECT_EQ(last("Allocate")["answer"]["containers"][0]["devices"].size(),
            result.containers.at(0).response.devices.size());
}

TEST_F(RecordedAgent, TakesItsStreamWithItWhenItIsKilled) {
  start();
  start_agent();
  ASSERT_TRUE(agent_->signal(SIGKILL));
  ASSERT_TRUE(kubelet_.transcript().wait_for(EventKind::kListAndWatchEnded, 1, kPatience));
  ASSERT_TRUE(wait_for("ListAndWatchEnded"));
  EXPECT_EQ(last("ListAndWatchEnded")["by"], "plugin");
  EXPECT_EQ(last("ListAndWatchEnded")["error"]["code"], "Unavailable");
}

}  // namespace
}  // namespace tranche::testbed::recorder
