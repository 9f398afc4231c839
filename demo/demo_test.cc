// SPDX-License-Identifier: Apache-2.0
//
// The demo as people run it: the program, its exit code, and what it leaves
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "demo/parts.h"
#include "demo/story.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "testbed/process/agent_process.h"

namespace tranche::demo {
namespace {

using standin::AgentProcess;
using standin::ProcessEnd;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::chrono::seconds kPatience{120};

// Processes that were given something of this folder in their environment: the
// agent and its commands.
std::vector<pid_t> processes_in(const std::string& folder) {
  std::vector<pid_t> found;
  if (folder.empty()) return found;  // it is in every text, and these get signals
  const auto names = list_directory("/proc");
  if (!names) return found;
  for (const std::string& name : *names) {
    const auto pid = parse_number<pid_t>(name);
    if (!pid) continue;
    std::ifstream file("/proc/" + name + "/environ");
    const std::string environment(std::istreambuf_iterator<char>(file), {});
    if (environment.find(folder) != std::string::npos) found.push_back(*pid);
  }
  return found;
}

class Demo : public testing::Test {
 protected:
  void start(std::vector<std::string> command, std::map<std::string, std::string> variables = {}) {
    auto started =
        AgentProcess::start({.command = std::move(command), .environment = std::move(variables)});
    ASSERT_TRUE(started) << started.error().message;
    process_ = *std::move(started);
    const auto named = process_->wait_for_line("lies in (/[^ ]+/tranche-demo\\.\\w+)", kPatience);
    ASSERT_TRUE(named) << named.error().message;
    folder_ = named->groups.at(1);
  }

  // On a terminal of its own; what is written to the process is typed there.
  void start_on_terminal(const std::string& flags, const std::string& no_color) {
    start({"script", "-qefc", "echo demo is $$; exec " TRANCHE_DEMO " " + flags, "/dev/null"},
          {{"TERM", "xterm"}, {"NO_COLOR", no_color}});
    const auto named = process_->wait_for_line("demo is (\\d+)", kPatience);
    ASSERT_TRUE(named) << named.error().message;
    demo_ = parse_number<pid_t>(named->groups.at(1)).value_or(0);
    ASSERT_GT(demo_, 1);
  }

  void start_with_agent(const std::string& script, std::vector<std::string> flags) {
    std::ofstream(dir_.path("agent")) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(dir_.path("agent"), std::filesystem::perms::owner_all);
    flags.insert(flags.begin(), {TRANCHE_DEMO, "--agent", dir_.path("agent")});
    start(flags);
  }

  void await_line(const std::string& regex) {
    const auto found = process_->wait_for_line(regex, kPatience);
    ASSERT_TRUE(found) << found.error().message;
  }

  // A copy of the demo and its parts that any user can run; its path.
  std::string copy_for_everybody() const {
    namespace fs = std::filesystem;
    fs::permissions(dir_.path(), fs::perms(0755));
    const std::string program = dir_.path("build/demo/tranche-demo");
    const Parts from = parts_of(TRANCHE_DEMO);
    const Parts to = parts_of(program);
    const std::map<std::string, std::string> files{
        {TRANCHE_DEMO, program}, {from.agent, to.agent}, {from.driver_library, to.driver_library}};
    for (const auto& [source, target] : files) {
      fs::create_directories(fs::path(target).parent_path());
      fs::copy_file(source, target);
    }
    // Whatever the umask is.
    for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
      fs::permissions(entry, fs::perms(0755));
    }
    return program;
  }

  ProcessEnd end() {
    const auto ended = process_->wait_for_end(kPatience);
    EXPECT_TRUE(ended) << ended.error().message;
    return ended ? *ended : ProcessEnd{};
  }

  void expect_nothing_left() {
    EXPECT_FALSE(path_exists(folder_)) << folder_;
    EXPECT_THAT(processes_in(folder_), IsEmpty());
  }

  void expect_the_whole_story() {
    const std::string output = process_->output();
    std::size_t number = 0;
    for (const Step& step : story()) {
      EXPECT_THAT(output, HasSubstr("\n" + std::to_string(++number) + ". " + step.title + "\n"));
    }
    for (const char* fact : {"Register nvidia.com/gpu ",
                             "Register nvidia.com/gpu-shared ",
                             "Register nvidia.com/mig-3g.47gb ",
                             "nvidia.com/gpu: 6 of 6 allocatable, 0 in use",
                             "nvidia.com/gpu-shared: 4 of 4 allocatable, 0 in use",
                             "nvidia.com/mig-3g.47gb: 2 of 2 allocatable, 0 in use",
                             "NVIDIA_VISIBLE_DEVICES=GPU-",
                             "joined by 12 NVLinks",
                             "/dev/nvidia6\n",
                             "NVIDIA_VISIBLE_DEVICES=MIG-",
                             "/dev/nvidia-caps/nvidia-cap",
                             "XID 79: the GPU fell off the bus",
                             "nvidia.com/gpu-shared: 0 of 4 allocatable, 2 in use",
                             "no healthy devices present",
                             "nvidia.com/gpu-shared: 4 of 4 allocatable, 2 in use",
                             "did you mean 'replicas'?",
                             "nvidia.com/gpu: 5 of 5 allocatable, 2 in use",
                             "nvidia.com/gpu-shared: 8 of 8 allocatable, 3 in use",
                             "Real GPUs",
                             "Ended; "}) {
      EXPECT_THAT(output, HasSubstr(fact));
    }
  }

  const TempDir dir_;
  std::unique_ptr<AgentProcess> process_;
  std::string folder_;
  pid_t demo_ = 0;  // where it runs on a terminal
};

TEST_F(Demo, TellsItsWholeStoryAndLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(start({TRANCHE_DEMO, "--once", "--fast"}));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_the_whole_story();
  EXPECT_THAT(process_->output(), Not(HasSubstr("\033"))) << "it is no terminal";
  expect_nothing_left();
}

// Where the checkout lies below a folder that is closed to others, as root's home is,
// no other user can run what is built there: so a copy is run.
TEST_F(Demo, TellsItToAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: every test here runs as an ordinary user";
  const std::string copy = copy_for_everybody();
  ASSERT_NO_FATAL_FAILURE(start(
      {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "--once", "--fast"}));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_the_whole_story();
  EXPECT_THAT(process_->output(), Not(HasSubstr("CDI      ")));
  EXPECT_THAT(process_->output(), HasSubstr("You may not make device nodes here"));
  expect_nothing_left();
}

TEST_F(Demo, IgnoresWhatConfiguresARealAgent) {
  ASSERT_NO_FATAL_FAILURE(start(
      {TRANCHE_DEMO, "--once", "--fast"},
      {{"CONFIG_FILE", "/nowhere"}, {"MIG_STRATEGY", "none"}, {"KUBELET_SOCKET", "/nowhere"}}));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
}

TEST_F(Demo, EndsAfterItsStoryWhereTheOutputIsNoTerminal) {
  ASSERT_NO_FATAL_FAILURE(start({TRANCHE_DEMO}));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_the_whole_story();
  EXPECT_THAT(process_->output(), Not(HasSubstr("Still running")));
}

class DemoEndedBy : public Demo, public testing::WithParamInterface<int> {};

TEST_P(DemoEndedBy, ASignalInTheMiddleLeavesNothing) {
  // There it pauses between the steps.
  ASSERT_NO_FATAL_FAILURE(start_on_terminal("", "1"));
  ASSERT_NO_FATAL_FAILURE(await_line("6 of 6 allocatable"));
  EXPECT_THAT(processes_in(folder_), Not(IsEmpty())) << "the agent";
  ASSERT_EQ(::kill(demo_, GetParam()), 0);
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  EXPECT_THAT(process_->output(), HasSubstr("Ended; " + folder_ + " is removed."));
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Signal, DemoEndedBy, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_F(Demo, EndsBeforeItsFirstStepWhenAsked) {
  ASSERT_NO_FATAL_FAILURE(start({TRANCHE_DEMO}));
  ASSERT_TRUE(process_->signal(SIGINT));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_nothing_left();
}

TEST_F(Demo, EndsWhileItWaitsForAnAgentThatHangs) {
  ASSERT_NO_FATAL_FAILURE(
      start_with_agent("[ \"$1\" = devices ] && exit 0\n"
                       "trap '' TERM\n"
                       "while true; do sleep 1000; done\n",
                       {}));
  ASSERT_NO_FATAL_FAILURE(await_line("^2\\. "));
  ASSERT_TRUE(process_->signal(SIGINT));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_nothing_left();
}

TEST_F(Demo, EndsWhileThePodsWaitForAnAgentThatHangs) {
  ASSERT_NO_FATAL_FAILURE(start_on_terminal("", "1"));
  ASSERT_NO_FATAL_FAILURE(await_line("6 of 6 allocatable"));
  const auto agents = processes_in(folder_);
  ASSERT_THAT(agents, Not(IsEmpty()));
  for (const pid_t agent : agents) ::kill(agent, SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(await_line("pod +training asks"));
  ASSERT_EQ(::kill(demo_, SIGINT), 0);
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_nothing_left();
}

TEST_F(Demo, FailsLoudlyWhenTheAgentDiesInTheStory) {
  ASSERT_NO_FATAL_FAILURE(
      start_with_agent("[ \"$1\" = devices ] && exit 0\n"
                       "echo the agent is unwell >&2\n"
                       "exit 3\n",
                       {}));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 1}));
  EXPECT_THAT(process_->output(),
              HasSubstr("step 2. Its resources are registered, failed: waiting for "));
  EXPECT_THAT(process_->output(), HasSubstr("the agent has ended with code 3"));
  EXPECT_THAT(process_->output(), HasSubstr("the agent is unwell")) << "its log";
  expect_nothing_left();
}

TEST_F(Demo, FailsLoudlyWhenTheAgentDiesAfterTheStory) {
  ASSERT_NO_FATAL_FAILURE(start_on_terminal("--fast", "1"));
  ASSERT_NO_FATAL_FAILURE(await_line("Still running"));
  const auto agents = processes_in(folder_);
  ASSERT_THAT(agents, SizeIs(1));
  ASSERT_EQ(::kill(agents[0], SIGKILL), 0);
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 1}));
  EXPECT_THAT(process_->output(), HasSubstr("the agent has ended by signal 9"));
  EXPECT_THAT(process_->output(), HasSubstr("configuration reloaded")) << "its log";
  expect_nothing_left();
}

TEST_F(Demo, FailsLoudlyWithAnAgentThatDoesNothing) {
  ASSERT_NO_FATAL_FAILURE(start({TRANCHE_DEMO, "--once", "--fast", "--agent", "/bin/false"}));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 1}));
  EXPECT_THAT(process_->output(), HasSubstr("step 1. A node with eight GPUs, failed"));
  expect_nothing_left();
}

TEST_F(Demo, EndsWhenNobodyReadsAnyMore) {
  ASSERT_NO_FATAL_FAILURE(
      start({"bash", "-c", "set -o pipefail; '" TRANCHE_DEMO "' --once --fast | head -n 6"}));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_nothing_left();
}

TEST_F(Demo, StaysOnATerminalAndShowsWhatHappensUntilCtrlC) {
  ASSERT_NO_FATAL_FAILURE(start_on_terminal("--fast", ""));
  ASSERT_NO_FATAL_FAILURE(await_line("Still running"));
  EXPECT_THAT(process_->output(), HasSubstr("\033[1m1. A node with eight GPUs\033[0m"));
  const auto fault = AgentProcess::start(
      {.command = {TRANCHE_SIM, "fault", "--root", folder_ + "/node", "lose", "--gpu", "3"}});
  ASSERT_TRUE(fault);
  ASSERT_NO_FATAL_FAILURE(await_line("nvidia.com/gpu-shared: 4 of 8 allocatable"));
  ASSERT_TRUE(process_->write_line("\x03"));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_nothing_left();
}

TEST_F(Demo, SaysWhatToTypeAndAllOfItWorks) {
  ASSERT_NO_FATAL_FAILURE(start_on_terminal("--fast", "1"));
  ASSERT_NO_FATAL_FAILURE(await_line("Or edit the configuration"));
  EXPECT_THAT(process_->output(), Not(HasSubstr("\033"))) << "NO_COLOR";
  std::vector<std::string> commands;
  for (const auto& line : process_->lines()) {
    const std::string text(trim(line.text));
    const bool is_command = text.starts_with(TRANCHE_SIM) || text.starts_with("STATE_DIR=");
    if (is_command) commands.push_back(text);
  }
  EXPECT_THAT(commands, SizeIs(7));
  for (const std::string& command : commands) {
    const auto typed = AgentProcess::start({.command = {"sh", "-c", command}});
    ASSERT_TRUE(typed);
    const auto ended = (*typed)->wait_for_end(kPatience);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->exit_code, 0) << command << "\n" << (*typed)->output();
  }
  ASSERT_NO_FATAL_FAILURE(await_line("nvidia.com/mig-1g.12gb: 1 of 1 allocatable"));
  ASSERT_TRUE(process_->write_line("\x03"));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_nothing_left();
}

TEST(DemoProgram, NamesAWrongFlag) {
  const auto process = AgentProcess::start({.command = {TRANCHE_DEMO, "--onec"}});
  ASSERT_TRUE(process);
  EXPECT_EQ((*process)->wait_for_end(kPatience)->exit_code, 2);
  EXPECT_THAT((*process)->output(), HasSubstr("did you mean --once?"));
}

}  // namespace
}  // namespace tranche::demo
