// SPDX-License-Identifier: Apache-2.0
//
// MPS daemons through the real binary: its own, and those that somebody else runs or does not.
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "integration/node_story.h"
#include "os/child_process.h"
#include "os/testing/unix_socket.h"

namespace tranche::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kMemory = "aliyun.com/gpu-mem";

class MpsStory : public NodeStory {
 protected:
  // As a daemon's control socket, which nobody of us talks to.
  UniqueFd start_daemon(const std::string& pipe) {
    std::filesystem::create_directories(pipe);
    return listening_on(pipe + "/control");
  }
  std::string devices() { return command({"devices"}).output; }
};

TEST_F(MpsStory, APipeFolderWithoutADaemonPromisesNothingUntilOneComes) {
  begin("t4-single", {"--profile=gpushare", "--mps-pipe=" + path("pipe")});
  expect_capacity(kMemory, 15);
  const std::string why =
      std::string(kMemory) + " has no usable share: MPS: there is no " + path("pipe");
  expect_log("warning.*" + why);
  expect_allocatable(kMemory, 0);
  EXPECT_THAT(devices(), HasSubstr(why));
  const UniqueFd daemon = start_daemon(path("pipe"));
  expect_allocatable(kMemory, 15);
  const auto response = granted("pod", {{kMemory, 5}});
  EXPECT_EQ(response.envs.at("TRANCHE_MEMORY_ENFORCEMENT"), "mps");
  EXPECT_THAT(response.mounts, Contains(standin::Mount{path("pipe"), path("pipe"), true}));
}

TEST_F(MpsStory, APipeFolderThatIsALinkIsGivenToNobody) {
  const UniqueFd daemon = start_daemon(path("real"));
  std::filesystem::create_directory_symlink(path("real"), path("pipe"));
  begin("t4-single", {"--profile=gpushare", "--mps-pipe=" + path("pipe")});
  expect_log("warning.*is not given to containers: .*pipe is a link");
  expect_allocatable(kMemory, 0);
}

TEST_F(MpsStory, WithoutNvidiasDaemonThereIsAReason) {
  write("config.yaml",
        "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}\n");
  begin("t4-single", {"--config-file=" + path("config.yaml"), "--mps-root=" + path("mps")});
  expect_capacity(kGpu, 3);
  expect_log(
      "warning.*nvidia.com/gpu has no usable share: MPS: NVIDIA's MPS control daemon is not ready");
  expect_allocatable(kGpu, 0);
  EXPECT_THAT(devices(), HasSubstr("NVIDIA's MPS control daemon is not ready"));
  const UniqueFd daemon = start_daemon(path("mps/nvidia.com/gpu/pipe"));
  std::ofstream{path("mps/.ready")}.flush();
  expect_allocatable(kGpu, 3);
}

TEST_F(MpsStory, MemoryThatNothingHoldsIsWarnedOf) {
  begin("t4-single", {"--profile=gpushare"});
  expect_allocatable(kMemory, 15);
  expect_log("warning.*" + std::string(kMemory) +
             ": nothing limits containers to their share of memory");
  EXPECT_THAT(devices(), HasSubstr("nothing limits containers to their share of memory"));
}

// A daemon of the agent's on GPU 0, which nobody else may compute on.
class ExclusiveMpsStory : public MpsStory {
 protected:
  void begin_exclusive() {
    make_node("t4-quad");
    std::filesystem::permissions(dir_.path(), std::filesystem::perms(0755));
    for (const char* name : {"nvidia-cuda-mps-control", "nvidia-cuda-mps-server"}) {
      std::filesystem::copy_file(CONTROL_STANDIN, path("root/usr/bin/") + name,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    const auto library =
        std::filesystem::path(node_->driver_library()).parent_path() / "libcuda.so.1";
    std::filesystem::remove(library);
    std::filesystem::copy_file(LIBCUDA_STANDIN, library);
    write("config.yaml",
          "version: v1\ntranche: {policies: [{resource: aliyun.com/gpu-mem, share: memory, unit: "
          "1GiB, devices: [0], enforcement: mps-exclusive}]}\n");
    start_kubelet();
    start();
    expect_log("mps daemon is ready");
    pipe_ = path("mps/") + node_->world()->gpus.at(0).uuid.text + "/pipe";
  }
  void TearDown() override {
    agent_.reset();
    const auto left = find_processes("CUDA_MPS_PIPE_DIRECTORY=" + pipe_, "nvidia-cuda-mps-");
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
  }
  void start() {
    start_agent({"--config-file=" + path("config.yaml"), "--mps-dir=" + path("mps")});
  }

  std::string ask_daemon(const std::string& question) {
    const auto done = run_program({.words = {path("root/usr/bin/nvidia-cuda-mps-control")},
                                   .environment = {"CUDA_MPS_PIPE_DIRECTORY=" + pipe_}},
                                  question + "\n", kPatience);
    return done ? done->out : done.error().message;
  }
  // Makes the agent look at its daemon, also at the compute mode, and waits for the end of that.
  void await_look() {
    const std::size_t mark = log_mark();
    const std::string server(trim(ask_daemon("get_server_list")));
    ask_daemon("set_active_thread_percentage " + server + " 10");
    expect_log_after(mark, "mps limit was changed by another program");
  }
  // How often the simulated driver was opened, or looked at, since the last time.
  static int opens_seen(const UniqueFd& watch) {
    alignas(inotify_event) std::array<char, 4096> events{};
    const ssize_t size = ::read(watch.get(), events.data(), events.size());
    return size < 0 ? 0 : static_cast<int>(size / static_cast<ssize_t>(sizeof(inotify_event)));
  }
  UniqueFd watch_driver() {
    UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    EXPECT_GE(::inotify_add_watch(watch.get(), node_->world_file().c_str(), IN_OPEN), 0);
    return watch;
  }

  std::string pipe_;
};

TEST_F(ExclusiveMpsStory, ALookAtTheComputeModeDoesNotOpenADriverThatIsReleased) {
  begin_exclusive();
  const auto released = command({"release", "3"});
  ASSERT_EQ(released.exit_code, 0) << released.error;
  EXPECT_THAT(released.output, HasSubstr("driver closed"));
  const UniqueFd watch = watch_driver();
  await_look();
  EXPECT_EQ(opens_seen(watch), 0);
  // Neither does the next agent; what was set before the release is taken for set.
  const std::string server = ask_daemon("get_server_list");
  kill_agent();
  start();
  expect_log("mps daemon is ready");
  await_look();
  EXPECT_EQ(opens_seen(watch), 0);
  EXPECT_EQ(ask_daemon("get_server_list"), server) << "clients would have ended with it";
  // Somebody changes the mode meanwhile: seen after the release.
  happens([](sim::World world) -> Result<sim::World> {
    world.gpus.at(0).compute_mode = 0;
    return world;
  });
  ASSERT_EQ(command({"resume"}).exit_code, 0);
  const std::size_t mark = log_mark();
  await_look();
  expect_log_after(mark, "compute mode was changed by another program");
}

}  // namespace
}  // namespace tranche::tests
