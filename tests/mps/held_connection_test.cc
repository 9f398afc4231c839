// SPDX-License-Identifier: Apache-2.0
//
// A control daemon that does not answer, because a client holds its one connection or because it
// hangs, and the clients that compute meanwhile.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

#include "fixture.h"
#include "node/mps/process_table.h"
#include "node/mps/socket_peers.h"

namespace tranche::tests {
namespace {

using testing::HasSubstr;

constexpr uid_t kNobody = 65534;
constexpr const char* kPod = "0f9a7c52-6a1c-4a55-9f0e-1b2c3d4e5f60";

class HeldConnection : public testing::Test {
 protected:
  void SetUp() override {
    node_.log_everything();
    node_.timings.answer = std::chrono::milliseconds(200);
    node_.timings.client = std::chrono::milliseconds(500);
    node_.start_agent().set_plan(node_.plan({kGpuA}));
    node_.await_state(kGpuA, MpsState::kReady);
    daemon_ = node_.status(kGpuA).pid;
  }
  // All users that this process can become.
  static std::vector<uid_t> users() {
    return ::geteuid() == 0 ? std::vector<uid_t>{0, kNobody} : std::vector<uid_t>{::geteuid()};
  }
  void await_trouble(const std::string& text) {
    node_.await(
        [&](const MpsReport& report) {
          return !report.daemons.empty() && report.daemons[0].state == MpsState::kTrouble &&
                 report.wirings.at(kGpuA).problem.find(text) != std::string::npos;
        },
        "trouble: " + text);
  }
  // It was queried again without an answer, and nothing was ended.
  void await_more_questions() {
    const auto count = [&] {
      const std::string log = node_.log_text();
      int lines = 0;
      for (auto at = log.find("may be in trouble"); at != std::string::npos;
           at = log.find("may be in trouble", at + 1)) {
        ++lines;
      }
      return lines;
    };
    const int before = count();
    await_condition([&] { return count() > before + 3; }, "more questions in vain");
  }
  void expect_nothing_ended(pid_t client) {
    EXPECT_EQ(node_.status(kGpuA).pid, daemon_);
    EXPECT_EQ(node_.status(kGpuA).restarts, 0U);
    EXPECT_EQ(::kill(client, 0), 0);
  }

  MpsNode node_;
  pid_t daemon_ = 0;
};

TEST_F(HeldConnection, OfAnyUserEndsNothingAndIsNamed) {
  for (const uid_t user : users()) {
    const pid_t client = node_.let_stranger_in(kGpuA, user, "client");
    const pid_t holder = node_.let_stranger_in(kGpuA, user);
    await_trouble(
        fmt::format("process {} (mps-stranger, uid {}) holds a connection", holder, user));
    await_more_questions();
    expect_nothing_ended(client);
    ::kill(holder, SIGKILL);
    node_.await_state(kGpuA, MpsState::kReady);
    expect_nothing_ended(client);
    EXPECT_THAT(node_.log_text(), HasSubstr("mps daemon answers again"));
  }
}

TEST_F(HeldConnection, EndsNothingWhereNoClientIsAttachedYet) {
  const pid_t holder = node_.let_stranger_in(kGpuA, users().back());
  await_trouble("holds a connection");
  await_more_questions();
  expect_nothing_ended(holder);
}

TEST_F(HeldConnection, DoesNotKeepTheNextAgentFromAdoptingTheDaemon) {
  const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
  node_.end_agent();
  const pid_t holder = node_.let_stranger_in(kGpuA, users().back());
  node_.start_agent().set_plan(node_.plan({kGpuA}));
  await_trouble(fmt::format("process {}", holder));
  await_more_questions();
  ::kill(holder, SIGKILL);
  node_.await_state(kGpuA, MpsState::kReady);
  expect_nothing_ended(client);
  EXPECT_TRUE(node_.status(kGpuA).adopted);
}

TEST_F(HeldConnection, PassesToTheNextWhoIsNamedToo) {
  const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
  const pid_t first = node_.let_stranger_in(kGpuA, users().back());
  const pid_t second = node_.let_stranger_in(kGpuA, users().back());
  await_trouble(fmt::format("process {}", first));
  ::kill(first, SIGKILL);
  await_trouble(fmt::format("process {}", second));
  ::kill(second, SIGKILL);
  node_.await_state(kGpuA, MpsState::kReady);
  expect_nothing_ended(client);
}

// Moves a process into a control group named like a pod's; false: not possible.
class PodGroup {
 public:
  explicit PodGroup(pid_t pid) {
    for (const char* root : {"/sys/fs/cgroup/freezer", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
      const std::string parent = fmt::format("{}/tranche-test-{}", root, pid);
      const std::string folder = parent + "/pod" + kPod;
      if (::mkdir(parent.c_str(), 0755) != 0) continue;
      folders_ = {folder, parent};
      ::mkdir(folder.c_str(), 0755);
      std::ofstream(folder + "/cgroup.procs") << pid << std::flush;
      const auto facts = facts_of(pid);
      is_made_ = facts && facts->pod == kPod;
      if (is_made_) return;
      remove();
    }
  }
  PodGroup(const PodGroup&) = delete;
  PodGroup& operator=(const PodGroup&) = delete;
  ~PodGroup() { remove(); }
  bool is_made() const { return is_made_; }

 private:
  // A group can be removed only after its last process.
  void remove() {
    for (const std::string& folder : folders_) {
      for (int i = 0; i < 200 && ::rmdir(folder.c_str()) != 0 && errno == EBUSY; ++i) {
        ::poll(nullptr, 0, 10);
      }
    }
    folders_.clear();
  }
  std::vector<std::string> folders_;
  bool is_made_ = false;
};

// Even if no process has it, for example while it is in transit with SCM_RIGHTS.
TEST_F(HeldConnection, IsEndedWhoeverHasItAndNoProcessIs) {
  for (const char* word : {"", "flight"}) {
    node_.end_agent();
    const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
    const pid_t holder = node_.let_stranger_in(kGpuA, users().back(), word);
    node_.timings.holding = std::chrono::milliseconds(300);
    node_.start_agent().set_plan(node_.plan({kGpuA}));
    node_.await_state(kGpuA, MpsState::kReady);
    EXPECT_THAT(node_.log_text(),
                HasSubstr("closed a connection that kept the mps daemon from answering"));
    EXPECT_THAT(node_.status(kGpuA).last_problem, HasSubstr("the agent closed the connection"));
    EXPECT_EQ(::kill(holder, 0), 0);
    expect_nothing_ended(client);
  }
  EXPECT_THAT(node_.log_text(), HasSubstr("that the agent does not see"));
}

TEST_F(HeldConnection, OfOneWhoAsksAndDoesNotReadIsOneToo) {
  // The stand-in answers and disconnects clients that may change settings.
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user";
  const pid_t client = node_.let_stranger_in(kGpuA, kNobody, "client");
  node_.end_agent();
  const pid_t holder = node_.let_stranger_in(kGpuA, kNobody, "flood");
  node_.timings.holding = std::chrono::milliseconds(300);
  node_.start_agent().set_plan(node_.plan({kGpuA}));
  node_.await_state(kGpuA, MpsState::kReady);
  EXPECT_THAT(node_.log_text(),
              HasSubstr(fmt::format("process {} (mps-stranger, uid 65534) holds a", holder)));
  EXPECT_THAT(node_.log_text(), HasSubstr("does not read its answers"));
  EXPECT_THAT(node_.log_text(),
              HasSubstr("closed a connection that kept the mps daemon from answering"));
  expect_nothing_ended(client);
}

class HeldAgain : public HeldConnection {
 protected:
  // One of a pod's that does so is killed, and nobody else is.
  void expect_end_of_one_who(const std::string& does) {
    node_.end_agent();
    const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
    const pid_t holder = node_.let_stranger_in(kGpuA, users().back(), does);
    const PodGroup group(holder);
    if (!group.is_made()) GTEST_SKIP() << "no control groups can be made here";
    node_.timings.holding = std::chrono::milliseconds(300);
    node_.start_agent().set_plan(node_.plan({kGpuA}));
    await_condition([&] { return node_.log_text().find("killed a process") != std::string::npos; },
                    "the holder's end");
    node_.await_state(kGpuA, MpsState::kReady);
    const std::string name = "process " + std::to_string(holder) + " (mps-stranger";
    EXPECT_THAT(node_.log_text(), HasSubstr(name));
    EXPECT_THAT(node_.log_text(), HasSubstr(std::string("pod ") + kPod));
    EXPECT_THAT(node_.status(kGpuA).last_problem, HasSubstr("the agent killed " + name));
    const auto facts = facts_of(holder);
    EXPECT_TRUE(!facts || facts->is_dead);
    expect_nothing_ended(client);
  }
};

TEST_F(HeldAgain, ByAPodsProcessEndsWithThatProcessAlone) { expect_end_of_one_who("again"); }

TEST_F(HeldAgain, BehindVeryManyDescriptorsEndsWithThatProcessAlone) {
  expect_end_of_one_who("hidden-again");
}

TEST_F(HeldAgain, OnItsWayByScmRightsEndsWithTheProcessThatConnected) {
  expect_end_of_one_who("flight-again");
}

TEST_F(HeldConnection, OfAPodsProcessIsOnlyNamedWhereTheOperatorWantsThat) {
  node_.end_agent();
  const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
  const pid_t holder = node_.let_stranger_in(kGpuA, users().back());
  const PodGroup group(holder);
  if (!group.is_made()) GTEST_SKIP() << "no control groups can be made here";
  node_.timings.holding = std::chrono::milliseconds(1);
  MpsPlan plan = node_.plan({kGpuA});
  plan.rules.end_holders = false;
  node_.start_agent().set_plan(plan);
  await_trouble(std::string("pod ") + kPod);
  await_more_questions();
  EXPECT_EQ(::kill(holder, 0), 0);
  expect_nothing_ended(client);
  ::kill(holder, SIGKILL);
}

TEST_F(HeldConnection, IsNoPartOfADaemonThatIsStopped) {
  const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
  ::kill(daemon_, SIGSTOP);
  await_trouble("stopped by a signal or a debugger; it is not restarted while 1 client computes");
  await_more_questions();
  expect_nothing_ended(client);
  ::kill(daemon_, SIGCONT);
  node_.await_state(kGpuA, MpsState::kReady);
  expect_nothing_ended(client);
}

// Even if several short connections keep the agent's client waiting.
TEST_F(HeldConnection, IsNotNeededForAClientThatHangsToEndNothingWhileOthersCompute) {
  const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
  node_.behave(kGpuA, "hang");
  await_trouble("hangs; it is not restarted while 1 client computes through it");
  EXPECT_THAT(node_.wiring(kGpuA).problem, HasSubstr("healthy again"));
  await_more_questions();
  expect_nothing_ended(client);
  node_.end_agent();
  node_.start_agent().set_plan(node_.plan({kGpuA}));
  await_trouble("hangs; it is not restarted while 1 client computes through it");
  expect_nothing_ended(client);
  ::kill(client, SIGKILL);
  node_.await([&](const MpsReport& report) { return report.daemons[0].restarts > 0; }, "a restart");
}

TEST_F(HeldConnection, IsNotWhatADaemonWithoutClientsWaitsFor) {
  ::kill(daemon_, SIGSTOP);
  node_.await([&](const MpsReport& report) { return report.daemons[0].restarts > 0; }, "a restart");
  node_.await_state(kGpuA, MpsState::kReady);
  EXPECT_NE(node_.status(kGpuA).pid, daemon_);
}

// For the calling thread and those that it starts: like kernels before 5.6, or without ptrace
// permission.
void refuse_pidfd_getfd() {
  std::array<sock_filter, 4> filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST_F(HeldConnection, CannotBeSeenWhereTheKernelRefusesAndThenNothingIsEnded) {
  const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
  node_.end_agent();
  std::thread([&] {
    refuse_pidfd_getfd();
    node_.start_agent().set_plan(node_.plan({kGpuA}));
  }).join();
  node_.await_state(kGpuA, MpsState::kReady);
  ::kill(daemon_, SIGSTOP);
  await_trouble("it is not restarted while its server lives");
  await_more_questions();
  expect_nothing_ended(client);
  ::kill(daemon_, SIGCONT);
  node_.await_state(kGpuA, MpsState::kReady);
  expect_nothing_ended(client);
}

TEST_F(HeldConnection, IsNotWhatADaemonWithADeadServerWaitsFor) {
  const pid_t client = node_.let_stranger_in(kGpuA, users().back(), "client");
  const int server = node_.status(kGpuA).server_pid.value_or(0);
  ::kill(daemon_, SIGSTOP);
  await_trouble("not restarted");
  ::kill(server, SIGKILL);
  node_.await([&](const MpsReport& report) { return report.daemons[0].restarts > 0; }, "a restart");
  node_.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(::kill(client, 0), 0);
}

}  // namespace
}  // namespace tranche::tests
