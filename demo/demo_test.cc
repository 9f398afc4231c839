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
#include <vector>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "base/text.h"
#include "demo/story.h"
#include "standin/agent_process.h"

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
    auto started = AgentProcess::start({.command = std::move(command), .environment = variables});
    ASSERT_TRUE(started) << started.error().message;
    process_ = *std::move(started);
    const auto named = process_->wait_for_line("lies in (/[^ ]+/tranche-demo\\.\\w+)", kPatience);
    ASSERT_TRUE(named) << named.error().message;
    folder_ = named->groups.at(1);
  }

  void await_line(const std::string& regex) {
    const auto found = process_->wait_for_line(regex, kPatience);
    ASSERT_TRUE(found) << found.error().message;
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
    for (const char* fact :
         {"nvidia.com/gpu: 8 of 8 allocatable, 0 in use", "NVIDIA_VISIBLE_DEVICES=GPU-",
          "/dev/nvidia0", "GPU 2, GPU 3, joined by 12 NVLinks", "Requested: 5, Available: 4",
          "nvidia.com/gpu: 7 of 8 allocatable", "the GPU fell off the bus",
          "nvidia.com/gpu: 32 of 32 allocatable", "1 before, 1 after",
          "nvidia.com/mig-3g.47gb: 2 of 2 allocatable", "NVIDIA_VISIBLE_DEVICES=MIG-",
          "did you mean 'replicas'?", "Real GPUs"}) {
      EXPECT_THAT(output, HasSubstr(fact));
    }
  }

  std::unique_ptr<AgentProcess> process_;
  std::string folder_;
};

TEST_F(Demo, TellsItsWholeStoryAndLeavesNothing) {
  start({TRANCHE_DEMO, "--once", "--fast"});
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_the_whole_story();
  EXPECT_THAT(process_->output(), Not(HasSubstr("\033"))) << "it is no terminal";
  expect_nothing_left();
}

TEST_F(Demo, TellsItToAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: every test here runs as an ordinary user";
  const std::vector<std::string> as_nobody{"setpriv", "--reuid=65534", "--regid=65534",
                                           "--clear-groups"};
  std::vector<std::string> probe = as_nobody;
  probe.insert(probe.end(), {TRANCHE_DEMO, "--help"});
  const auto probed = AgentProcess::start({.command = probe});
  if (!probed || (*probed)->wait_for_end(kPatience)->exit_code != 0) {
    GTEST_SKIP() << "SKIPPED: no ordinary user can run " << TRANCHE_DEMO
                 << " here (setpriv is missing, or the build folder is closed to others)";
  }
  std::vector<std::string> command = as_nobody;
  command.insert(command.end(), {TRANCHE_DEMO, "--once", "--fast"});
  start(command);
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_the_whole_story();
  EXPECT_THAT(process_->output(), Not(HasSubstr("CDI      ")));
  expect_nothing_left();
}

TEST_F(Demo, IgnoresWhatConfiguresARealAgent) {
  start({TRANCHE_DEMO, "--once", "--fast"},
        {{"CONFIG_FILE", "/nowhere"}, {"MIG_STRATEGY", "none"}, {"KUBELET_SOCKET", "/nowhere"}});
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
}

struct Ending {
  int signal;
  int code;
};
class DemoEndedBy : public Demo, public testing::WithParamInterface<Ending> {};

TEST_P(DemoEndedBy, ASignalInTheMiddleLeavesNothing) {
  start({TRANCHE_DEMO});
  await_line("8 of 8 allocatable");
  EXPECT_THAT(processes_in(folder_), SizeIs(1)) << "the agent";
  ASSERT_TRUE(process_->signal(GetParam().signal));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = GetParam().code})) << process_->output();
  EXPECT_THAT(process_->output(), Not(HasSubstr("10. ")));
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Signals, DemoEndedBy,
                         testing::Values(Ending{SIGINT, 130}, Ending{SIGTERM, 143},
                                         Ending{SIGHUP, 129}));

TEST_F(Demo, EndsBeforeItsFirstStepWhenAsked) {
  start({TRANCHE_DEMO});
  ASSERT_TRUE(process_->signal(SIGINT));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 130})) << process_->output();
  expect_nothing_left();
}

TEST_F(Demo, FailsLoudlyWhenTheAgentDies) {
  start({TRANCHE_DEMO});
  await_line("8 of 8 allocatable");
  const auto agents = processes_in(folder_);
  ASSERT_THAT(agents, SizeIs(1));
  ASSERT_EQ(::kill(agents[0], SIGKILL), 0);
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 1}));
  EXPECT_THAT(process_->output(), HasSubstr("the agent has ended by signal 9"));
  EXPECT_THAT(process_->output(), HasSubstr("tranche-device-plugin starts")) << "its log";
  expect_nothing_left();
}

TEST_F(Demo, EndsWhileItWaitsForAnAgentThatHangs) {
  const TempDir dir;
  std::ofstream(dir.path("agent")) << "#!/bin/sh\n"
                                      "[ \"$1\" = devices ] && exit 0\n"
                                      "trap '' TERM\n"
                                      "while true; do sleep 1000; done\n";
  std::filesystem::permissions(dir.path("agent"), std::filesystem::perms::owner_all);
  start({TRANCHE_DEMO, "--fast", "--agent", dir.path("agent")});
  await_line("^2\\. ");
  ASSERT_TRUE(process_->signal(SIGINT));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 130})) << process_->output();
  expect_nothing_left();
}

TEST_F(Demo, FailsLoudlyWithAnAgentThatDoesNothing) {
  start({TRANCHE_DEMO, "--once", "--fast", "--agent", "/bin/false"});
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 1}));
  EXPECT_THAT(process_->output(), HasSubstr("step 1 (A node with eight GPUs) failed"));
  expect_nothing_left();
}

TEST_F(Demo, EndsWhenNobodyReadsAnyMore) {
  start({"bash", "-c", "set -o pipefail; '" TRANCHE_DEMO "' --once --fast | head -n 6"});
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 128 + SIGPIPE}));
  expect_nothing_left();
}

TEST_F(Demo, StaysOnATerminalAndShowsWhatHappensUntilCtrlC) {
  // A terminal of its own, and what is written to it is typed.
  start({"script", "-qefc", TRANCHE_DEMO " --fast", "/dev/null"},
        {{"TERM", "xterm"}, {"NO_COLOR", ""}});
  await_line("What happens is shown here");
  EXPECT_THAT(process_->output(), HasSubstr("\033[1m1. A node with eight GPUs\033[0m"));
  const auto fault = AgentProcess::start(
      {.command = {TRANCHE_SIM, "fault", "--root", folder_ + "/node", "lose", "--gpu", "3"}});
  ASSERT_TRUE(fault);
  await_line("nvidia.com/gpu: 24 of 28 allocatable");
  ASSERT_TRUE(process_->write_line("\x03"));
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  expect_nothing_left();
}

TEST_F(Demo, IsNotPaintedWhereThatIsNotWanted) {
  start({"script", "-qefc", TRANCHE_DEMO " --once --fast", "/dev/null"},
        {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  EXPECT_EQ(end(), (ProcessEnd{.exit_code = 0})) << process_->output();
  EXPECT_THAT(process_->output(), Not(HasSubstr("\033")));
}

TEST(DemoProgram, NamesAWrongFlag) {
  const auto process = AgentProcess::start({.command = {TRANCHE_DEMO, "--onec"}});
  ASSERT_TRUE(process);
  EXPECT_EQ((*process)->wait_for_end(kPatience)->exit_code, 2);
  EXPECT_THAT((*process)->output(), HasSubstr("did you mean '--once'?"));
}

}  // namespace
}  // namespace tranche::demo
