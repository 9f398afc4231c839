// SPDX-License-Identifier: Apache-2.0
//
// The program under its second name, `mps-control-daemon`, on a simulated
// driver with the MPS stand-ins.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "os/child_process.h"
#include "os/files.h"
#include "os/patient_caller.h"
#include "os/testing/temp_dir.h"
#include "os/unique_fd.h"
#include "os/worker.h"
#include "testbed/mps/standin_talk.h"
#include "testbed/node/simulated_node.h"
#include "testbed/process/agent_process.h"
#include "testbed/world/changes.h"
#include "testbed/worlds/builtin.h"

namespace tranche::tests {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};

class MpsControlDaemon : public testing::Test {
 protected:
  void SetUp() override {
    const auto world = sim::builtin_world("t4-quad");
    ASSERT_TRUE(world);
    const auto node = sim::SimulatedNode::create(root(), *world, {.plain_files = true});
    ASSERT_TRUE(node) << node.error().message;
    for (const char* name : {"nvidia-cuda-mps-control", "nvidia-cuda-mps-server"}) {
      fs::copy_file(CONTROL_STANDIN, root() + "/usr/bin/" + name,
                    fs::copy_options::overwrite_existing);
    }
    for (const auto& entry : fs::recursive_directory_iterator(root() + "/usr")) {
      if (entry.path().filename() != "libcuda.so.1") continue;
      fs::remove(entry.path());
      fs::copy_file(LIBCUDA_STANDIN, entry.path());
      break;
    }
    fs::create_symlink(TRANCHE_AGENT, dir_.path("mps-control-daemon"));
    fs::create_directories(layout());
  }
  void TearDown() override {
    process_.reset();
    for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
  }

  std::string root() const { return dir_.path("root"); }
  std::string layout() const { return dir_.path("mps"); }
  std::string started() const { return layout() + "/nvidia.com/gpu/.started"; }
  std::vector<pid_t> processes() const {
    return find_processes(fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/nvidia.com/gpu/pipe", layout()),
                          "nvidia-cuda-mps-");
  }

  void start(const std::string& config) {
    std::ofstream(dir_.path("config.yaml")) << config;
    auto started = standin::AgentProcess::start(
        {.command = {dir_.path("mps-control-daemon"), "--root=" + layout()},
         .environment = {{"CONFIG_FILE", dir_.path("config.yaml")},
                         {"MIG_STRATEGY", "none"},
                         {"DRIVER_CALL_TIMEOUT", "300ms"},
                         {"DRIVER_ROOT_CTR_PATH", root()},
                         {"HOST_ROOT", root()}}});
    ASSERT_TRUE(started) << started.error().message;
    process_ = *std::move(started);
  }

  void await_file(const std::string& path, bool is_there = true) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (path_exists(path) != is_there) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline)
          << path << (is_there ? " never came\n" : " stayed\n") << process_->output();
      sleep_unless_stopped({}, std::chrono::milliseconds(10));
    }
  }

  sim::World world() const {
    const auto node = sim::SimulatedNode::open(root());
    const auto world = node ? node->world() : Result<sim::World>(node.error());
    return world ? *world : sim::World{};
  }
  void happens(const sim::Change& change) const {
    const auto node = sim::SimulatedNode::open(root());
    ASSERT_TRUE(node && node->apply(change));
  }
  // Threads of driver calls: one that waits for work, and stuck ones.
  int driver_threads() const {
    const std::string tasks = fmt::format("/proc/{}/task", process_->pid());
    int count = 0;
    const auto names = list_directory(tasks);
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
      const auto comm = read_file(fmt::format("{}/{}/comm", tasks, name));
      if (comm && trim(*comm) == kPatientThread) ++count;
    }
    return count;
  }

  std::string ask(const std::string& question) {
    const Command command{
        .words = {root() + "/usr/bin/nvidia-cuda-mps-control"},
        .environment = {fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/nvidia.com/gpu/pipe", layout())}};
    const auto done = run_program(command, question + "\n", kPatience);
    return done ? done->out : done.error().message;
  }

  TempDir dir_;
  std::unique_ptr<standin::AgentProcess> process_;
};

constexpr const char* kThreeReplicas =
    "version: v1\n"
    "sharing:\n"
    "  mps:\n"
    "    resources:\n"
    "    - name: nvidia.com/gpu\n"
    "      replicas: 3\n";

TEST_F(MpsControlDaemon, RunsADaemonForTheResourceAndSaysSoByFiles) {
  start(kThreeReplicas);
  await_file(layout() + "/.ready");
  EXPECT_TRUE(path_exists(started()));
  EXPECT_EQ(ask("get_default_active_thread_percentage"), "33.3\n");
  // A third of 15 GiB, for all four GPUs.
  for (const char* ordinal : {"0", "3"}) {
    EXPECT_EQ(ask(std::string("get_default_device_pinned_mem_limit ") + ordinal), "5G\n");
  }
  EXPECT_EQ(ask("get_default_device_pinned_mem_limit 4"), "");
  ASSERT_TRUE(process_->signal(SIGTERM));
  const auto end = process_->wait_for_end(kPatience);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, (standin::ProcessEnd{.exit_code = 0})) << process_->output();
  EXPECT_THAT(processes(), IsEmpty());
  EXPECT_FALSE(path_exists(layout() + "/.ready"));
  // Containers mount it.
  EXPECT_THAT(*list_directory(layout() + "/nvidia.com/gpu"), ElementsAre("pipe"));
  EXPECT_THAT(*list_directory(layout() + "/nvidia.com"), ElementsAre("gpu"));
}

TEST_F(MpsControlDaemon, KeepsItsGpusForMpsAloneAsLongAsItRuns) {
  constexpr unsigned kExclusiveProcess = 3;
  start(kThreeReplicas);
  await_file(layout() + "/.ready");
  for (const sim::Gpu& gpu : world().gpus) EXPECT_EQ(gpu.compute_mode, kExclusiveProcess);
  ASSERT_TRUE(process_->signal(SIGTERM));
  ASSERT_TRUE(process_->wait_for_end(kPatience));
  for (const sim::Gpu& gpu : world().gpus) EXPECT_EQ(gpu.compute_mode, 0U);
}

TEST_F(MpsControlDaemon, MakesNoCallOfADriverThatHangsWhileAnEarlierOneIsStuck) {
  start(kThreeReplicas);
  await_file(layout() + "/.ready");
  happens(sim::block_call("nvmlDeviceGetCount"));
  ASSERT_TRUE(process_->signal(SIGHUP));
  ASSERT_TRUE(process_->wait_for_line("the driver cannot be read", kPatience));
  const int before = driver_threads();
  for (int round = 1; round <= 4; ++round) {
    // The bad file is logged after the reading that the good one caused.
    const std::string bad = fmt::format("version: v{}\n", round + 10);
    std::ofstream(dir_.path("config.yaml")) << bad;
    ASSERT_TRUE(process_->wait_for_line(fmt::format("v{}", round + 10), kPatience));
    std::ofstream(dir_.path("config.yaml")) << kThreeReplicas;
    ASSERT_TRUE(process_->signal(SIGHUP));
  }
  std::ofstream(dir_.path("config.yaml")) << "version: v99\n";
  ASSERT_TRUE(process_->wait_for_line("v99", kPatience));
  EXPECT_LE(driver_threads(), before + 1);
  happens(sim::clear_faults());
}

TEST_F(MpsControlDaemon, LooksAtTheDriverHoweverOftenClientsComeAndGo) {
  start(kThreeReplicas);
  await_file(layout() + "/.ready");
  happens(sim::unload_driver());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (process_->output().find("the driver cannot be read") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << process_->output();
    const UniqueFd client = mps_standin::connect_to(layout() + "/nvidia.com/gpu/pipe/control");
    mps_standin::say(client.get(), "client");
    ASSERT_EQ(mps_standin::hear(client.get()), "0");
    // A command that is not its own makes it look at its daemon, and report the
    // client.
    const std::size_t mark = process_->lines().size();
    ask("set_default_active_thread_percentage 33.3");
    ASSERT_TRUE(
        process_->wait_for_line("mps daemon got a command from another program", kPatience, mark));
  }
}

TEST_F(MpsControlDaemon, TakesBackItsWordWhenTheDaemonDies) {
  start(kThreeReplicas);
  await_file(layout() + "/.ready");
  const auto before = fs::last_write_time(started());
  const auto pid = read_file(layout() + "/nvidia.com/gpu/pipe/nvidia-cuda-mps-control.pid");
  ASSERT_TRUE(pid);
  ::kill(std::stoi(*pid), SIGKILL);
  ASSERT_TRUE(process_->wait_for_line("mps daemon failed.*signal 9", kPatience));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!path_exists(started()) || fs::last_write_time(started()) == before) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << process_->output();
    sleep_unless_stopped({}, std::chrono::milliseconds(10));
  }
}

TEST_F(MpsControlDaemon, TakesBackItsWordWhenTheFileNoLongerHasMps) {
  start(kThreeReplicas);
  await_file(layout() + "/.ready");
  std::ofstream(dir_.path("config.yaml")) << "version: v1\n";
  ASSERT_TRUE(process_->signal(SIGHUP));
  await_file(layout() + "/.ready", false);
  await_file(started(), false);
}

TEST_F(MpsControlDaemon, RunsNothingWithoutMps) {
  start("version: v1\n");
  ASSERT_TRUE(process_->wait_for_line("sharing.mps is not configured", kPatience));
  EXPECT_THAT(processes(), IsEmpty());
  EXPECT_FALSE(path_exists(layout() + "/.ready"));
}

TEST_F(MpsControlDaemon, MountsSharedMemoryOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
  const std::string shm = layout() + "/shm";
  for (int round = 0; round < 2; ++round) {
    const auto done =
        run_program({.words = {dir_.path("mps-control-daemon"), "--root=" + layout(), "mount-shm"}},
                    "", kPatience);
    ASSERT_TRUE(done);
    if (done->err.find("Operation not permitted") != std::string::npos) {
      GTEST_SKIP() << "no mounting here";
    }
    EXPECT_EQ(done->exit_code, 0) << done->err;
  }
  struct statfs status = {};
  ASSERT_EQ(::statfs(shm.c_str(), &status), 0);
  EXPECT_EQ(status.f_type, 0x01021994);  // TMPFS_MAGIC
  EXPECT_EQ(::umount(shm.c_str()), 0);
  EXPECT_NE(::umount(shm.c_str()), 0);
}

}  // namespace
}  // namespace tranche::tests
