// SPDX-License-Identifier: Apache-2.0
//
// The program kubelet-standin: its language, and the binary itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "testbed/kubelet/commands.h"
#include "testbed/kubelet/scripted_plugin.h"
#include "testbed/process/agent_process.h"

namespace tranche::testbed::standin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr std::chrono::seconds kPatience{20};

std::string flag_error(const std::vector<std::string>& arguments) {
  const auto flags = parse_flags(arguments);
  return flags ? "" : flags.error().message;
}

TEST(StandinFlags, AreReadIntoOptions) {
  const auto flags =
      parse_flags({"--dir", "/d", "--pod-resources", "/p", "--kubelet-version", "1.37", "--grace",
                   "7", "--seed", "9", "--wait-resource", "a.b/c=1", "--wait-resource", "a.b/d=2",
                   "--admit", "a.b/c=1,a.b/d=0", "--print", "--timeout", "3"});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(flags->kubelet.directory, "/d");
  EXPECT_EQ(flags->kubelet.pod_resources_directory, "/p");
  EXPECT_EQ(flags->kubelet.version, KubeletVersion::k137);
  EXPECT_EQ(flags->kubelet.grace, std::chrono::seconds(7));
  EXPECT_EQ(flags->kubelet.seed, 9U);
  EXPECT_EQ(flags->wait_for, (Limits{{"a.b/c", 1}, {"a.b/d", 2}}));
  EXPECT_EQ(flags->admit, (Limits{{"a.b/c", 1}, {"a.b/d", 0}}));
  EXPECT_TRUE(flags->print);
  EXPECT_EQ(flags->timeout, std::chrono::seconds(3));
  EXPECT_TRUE(flags->is_one_shot());
  EXPECT_FALSE(parse_flags({})->is_one_shot());
}

TEST(StandinFlags, NameTheirMistakes) {
  EXPECT_EQ(flag_error({"--dri", "x"}),
            "--dri: unknown flag; did you mean --dir?\nunexpected argument 'x': flags begin with a "
            "dash, and their values follow = or a space");
  EXPECT_EQ(flag_error({"--dir"}),
            "--dir: needs a value; write --dir=/var/lib/kubelet/device-plugins");
  EXPECT_EQ(flag_error({"--grace", "soon"}), "--grace soon: \"soon\" is not a number");
  EXPECT_EQ(
      flag_error({"--kubelet-version", "1.20"}),
      "--kubelet-version 1.20: unknown version 1.20 (allowed: 1.36, 1.37; did you mean '1.36'?)");
  EXPECT_EQ(flag_error({"--admit", "gpu"}), "--admit gpu: \"gpu\" is not RESOURCE=COUNT");
  EXPECT_EQ(flag_error({"--admit", "a=-1"}), "--admit a=-1: \"a=-1\" is not RESOURCE=COUNT");
  EXPECT_EQ(flag_error({"--admit", "a=1,a=2"}),
            "--admit a=1,a=2: \"a=2\": the resource is given twice");
  EXPECT_EQ(flag_error({"--wait-resource", "gpu"}),
            "--wait-resource: \"gpu\" is not RESOURCE=COUNT");
  EXPECT_EQ(flag_error({"--print"}), "--print needs --admit");
}

TEST(StandinCommand, IsReadFromALine) {
  EXPECT_EQ(*parse_command("  admit a  nvidia.com/gpu=2 "),
            (Command{.kind = Command::Kind::kAdmit,
                     .name = "a",
                     .pod = {.name = "a", .containers = {{"main", {{kGpu, 2}}}}}}));
  EXPECT_EQ(*parse_command("pod-resources off"),
            (Command{.kind = Command::Kind::kPodResources, .name = "off"}));
  EXPECT_FALSE(parse_command("pod-resources perhaps"));
  EXPECT_EQ(*parse_command("stop-stream nvidia.com/gpu"),
            (Command{.kind = Command::Kind::kStopStream, .name = kGpu}));
  EXPECT_EQ(*parse_command("wait nvidia.com/gpu=2"),
            (Command{.kind = Command::Kind::kWait, .limits = {{kGpu, 2}}}));
  EXPECT_EQ(*parse_command("quit"), (Command{.kind = Command::Kind::kQuit}));
  EXPECT_FALSE(parse_command(""));
  EXPECT_EQ(parse_command("reboot").error().message, "unknown command \"reboot\"; try \"help\"");
  EXPECT_THAT(parse_command("remove").error().message, HasSubstr("give: remove NAME"));
  EXPECT_FALSE(parse_command("admit a gpu"));
}

TEST(StandinCommand, AdmitsAPodOfSeveralContainers) {
  const auto command = parse_command(
      "admit a init:before:nvidia.com/gpu=1 left:nvidia.com/gpu=2,a.b/c=1 "
      "sidecar:watch:nvidia.com/gpu=1 idle:");
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_EQ(command->pod,
            (Pod{.name = "a",
                 .init_containers = {{"before", {{kGpu, 1}}, false}, {"watch", {{kGpu, 1}}, true}},
                 .containers = {{"left", {{kGpu, 2}, {"a.b/c", 1}}}, {"idle", {}}}}));
  EXPECT_EQ(parse_command("admit a a.b/c=1 a.b/d=1").error().message,
            "two containers have the name \"main\"");
  for (const char* word : {"x:y:a.b/c=1", "init:x:y:a.b/c=1", ":a.b/c=1"}) {
    EXPECT_THAT(parse_command("admit a " + std::string(word)).error().message,
                HasSubstr("is not [[init:|sidecar:]CONTAINER:]RESOURCE=COUNT"));
  }
  EXPECT_FALSE(parse_command("admit a main:gpu"));
}

TEST(StandinLines, SayOneFactEach) {
  AdmissionResult result{.admitted = true};
  result.containers.push_back({.name = "main",
                               .devices = {{kGpu, {"a", "b"}}},
                               .response = {.envs = {{"K", "v"}},
                                            .mounts = {{"/in", "/host", true}},
                                            .devices = {{"/dev/x", "/dev/y", "rw"}},
                                            .annotations = {{"n", "o"}},
                                            .cdi_devices = {"v/c=1"}}});
  EXPECT_THAT(
      grant_lines(result),
      ElementsAre("granted main nvidia.com/gpu a b", "env main K=v", "mount main /host /in ro",
                  "device main /dev/y /dev/x rw", "annotation main n=o", "cdi main v/c=1"));
  NodeView view;
  view.resources[kGpu] = {.capacity = 2,
                          .allocatable = 1,
                          .connected = true,
                          .devices = {{"a", {true, {0, 1}}}, {"b", {false, {}}}},
                          .allocated = {"a"}};
  EXPECT_THAT(node_lines(view),
              ElementsAre("resource nvidia.com/gpu capacity=2 allocatable=1 allocated=1 "
                          "connected=true"));
  EXPECT_THAT(device_lines(view, kGpu),
              ElementsAre("listed a healthy numa=0,1", "listed b unhealthy numa="));
}

class StandinProgram : public testing::Test {
 protected:
  std::unique_ptr<AgentProcess> run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {STANDIN_PROGRAM, "--dir", dir_.path("plugins")});
    auto process = AgentProcess::start({.command = std::move(arguments)});
    EXPECT_TRUE(process) << process.error().message;
    EXPECT_TRUE((*process)->wait_for_line("^event: Started$", kPatience));
    return std::move(*process);
  }

  const TempDir dir_;
};

TEST_F(StandinProgram, TakesCommandsAndTellsEvents) {
  const auto program = run({});
  ScriptedPlugin plugin(dir_.path("plugins"), "gpu.sock", {.on_allocate = [](auto&, auto& answer) {
                          (*answer.add_container_responses()->mutable_envs())["A"] = "b";
                          return grpc::Status::OK;
                        }});
  plugin.publish(healthy_devices(1));
  ASSERT_TRUE(plugin.register_as(kGpu).ok());
  ASSERT_TRUE(program->wait_for_line("^event: ListAndWatch .* devices=1 healthy=1$", kPatience));

  std::size_t seen = 0;
  const auto answered = [&](const std::string& command, const std::string& line) {
    EXPECT_TRUE(program->write_line(command));
    const auto answer = program->wait_for_line(line, kPatience, seen);
    EXPECT_TRUE(answer) << answer.error().message;
    if (answer) seen = answer->index + 1;
    const auto end =
        program->wait_for_line("^(ok|error: .*)$", kPatience, answer ? answer->index : seen);
    EXPECT_TRUE(end) << end.error().message;
    if (end) seen = end->index + 1;
  };
  answered("node", "^resource nvidia.com/gpu capacity=1 allocatable=1 allocated=0");
  answered("wait nvidia.com/gpu=1", "^ok$");
  answered("admit a nvidia.com/gpu=1", "^granted main nvidia.com/gpu id0$");
  answered("devices nvidia.com/gpu", "^listed id0 healthy numa=$");
  answered("wait nvidia.com/gpu=1", "^ok$");  // what is held counts, too
  answered("admit b nvidia.com/gpu=1", "^error: UnexpectedAdmissionError: Allocate failed due to");
  answered("start a", "^env main A=b$");
  answered("remove a", "^event: Removed default/a$");
  answered("start a", "^error: there is no pod a$");
  answered("stop-stream nvidia.com/gpu", "^ok$");
  ASSERT_TRUE(program->wait_for_line("^event: Disconnected", kPatience));
  answered("stop-stream nvidia.com/gpu", "^error: nvidia.com/gpu has no stream$");
  answered("restart", "^event: Stopped$");
  answered("node", "^resource nvidia.com/gpu capacity=0 allocatable=0");
  answered("nonsense", "^error: unknown command");
  answered("help", "^admit NAME");
  answered("quit", "^ok$");
  EXPECT_EQ(*program->wait_for_end(kPatience), (ProcessEnd{.exit_code = 0}));
  EXPECT_FALSE(path_exists(dir_.path("plugins/kubelet.sock")));
}

TEST_F(StandinProgram, AdmitsInitContainersAndReadmitsTheirPods) {
  const auto program = run({});
  ScriptedPlugin plugin(dir_.path("plugins"), "gpu.sock");
  plugin.publish(healthy_devices(2));
  ASSERT_TRUE(plugin.register_as(kGpu).ok());
  ASSERT_TRUE(program->wait_for_line("^event: ListAndWatch .* devices=2 healthy=2$", kPatience));
  ASSERT_TRUE(program->write_line("admit a init:before:nvidia.com/gpu=2 after:nvidia.com/gpu=2"));
  EXPECT_TRUE(program->wait_for_line("^granted before nvidia.com/gpu id0 id1$", kPatience));
  EXPECT_TRUE(program->wait_for_line("^granted after nvidia.com/gpu id0 id1$", kPatience));
  const auto admitted = program->wait_for_line("^ok$", kPatience);
  ASSERT_TRUE(admitted);
  ASSERT_TRUE(program->write_line("restart"));
  ASSERT_TRUE(program->write_line("readmit"));
  EXPECT_TRUE(program->wait_for_line("^rejected a UnexpectedAdmissionError: Allocate failed due to",
                                     kPatience, admitted->index + 1));
}

TEST_F(StandinProgram, EndsWithItsInput) {
  const auto program = run({});
  program->close_input();
  EXPECT_EQ(*program->wait_for_end(kPatience), (ProcessEnd{.exit_code = 0}));
}

TEST_F(StandinProgram, SaysWhenAWaitWasInVain) {
  const auto program = run({"--timeout", "0"});
  ASSERT_TRUE(program->write_line("wait nvidia.com/gpu=1"));
  EXPECT_TRUE(program->wait_for_line("^error: the resources did not become", kPatience));
}

TEST_F(StandinProgram, AdmitsOnePodAndPrintsWhatItGot) {
  const auto program =
      run({"--wait-resource", "nvidia.com/gpu=2", "--admit", "nvidia.com/gpu=2", "--print"});
  ScriptedPlugin plugin(dir_.path("plugins"), "gpu.sock");
  plugin.publish(healthy_devices(2));
  ASSERT_TRUE(plugin.register_as(kGpu).ok());
  EXPECT_TRUE(program->wait_for_line("^granted main nvidia.com/gpu id0 id1$", kPatience));
  EXPECT_EQ(*program->wait_for_end(kPatience), (ProcessEnd{.exit_code = 0}));
}

TEST_F(StandinProgram, FailsWhereTheResourceDoesNotCome) {
  const auto program = run({"--wait-resource", "nvidia.com/gpu=1", "--timeout", "0"});
  EXPECT_EQ(*program->wait_for_end(kPatience), (ProcessEnd{.exit_code = 1}));
}

}  // namespace
}  // namespace tranche::testbed::standin
