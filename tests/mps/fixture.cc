// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "node/mps/driver_programs.h"
#include "node/mps/folder_mark.h"
#include "os/files.h"
#include "os/worker.h"
#include "testbed/mps/standin_talk.h"

namespace tranche::tests {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kPatience{60};

}  // namespace

MpsNode::MpsNode()
    : log_([this](std::string_view line) {
        const std::lock_guard lock(log_mutex_);
        log_text_.append(line);
      }) {
  fs::permissions(dir_.path(), fs::perms(0755));
  timings.look = std::chrono::milliseconds(50);
  timings.canary = std::chrono::milliseconds(100);
  timings.drain = std::chrono::seconds(1);
  timings.least_backoff = std::chrono::milliseconds(10);
  timings.most_backoff = std::chrono::milliseconds(100);
  fs::create_directories(root() + "/usr/bin");
  fs::create_directories(root() + "/usr/lib64");
  for (const char* name : {kControlProgram, kServerProgram}) {
    fs::copy_file(CONTROL_STANDIN, root() + "/usr/bin/" + name);
  }
  fs::copy_file(LIBCUDA_STANDIN, root() + "/usr/lib64/libcuda.so.1");
}

MpsNode::~MpsNode() {
  end_agent();
  for (const pid_t pid : strangers_) ::kill(pid, SIGKILL);
  for (const char* uuid : {kGpuA, kGpuB}) {
    for (const pid_t pid : processes(uuid)) ::kill(pid, SIGKILL);
  }
}

void MpsNode::give_own_loader() {
  fs::create_directories(root() + "/lib64");
  fs::copy_file("/lib64/ld-linux-x86-64.so.2", root() + "/lib64/ld-linux-x86-64.so.2");
  for (const char* name : {"libc.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"}) {
    for (const char* folder : {"/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/"}) {
      const std::string from = std::string(folder) + name;
      if (!fs::exists(from)) continue;
      fs::copy_file(from, root() + "/lib64/" + name, fs::copy_options::skip_existing);
    }
  }
}

std::string MpsNode::log_text() const {
  const std::lock_guard lock(log_mutex_);
  return log_text_;
}

void MpsNode::take_away_libcuda() { fs::remove(root() + "/usr/lib64/libcuda.so.1"); }

MpsPlan MpsNode::plan(const std::vector<std::string>& uuids, const LargestHeld& held) const {
  Offer offer{.name = ResourceName("example.com/gpu-mem"),
              .terms = {.enforcement = Enforcement::kMps}};
  for (const std::string& uuid : uuids) {
    offer.devices.push_back({.uuid = uuid, .gpu = GpuUuid(uuid), .memory_bytes = 80ULL << 30});
  }
  return plan_mps({.offers = {offer}}, {.directory = directory()}, held);
}

MpsSupervisor& MpsNode::start_agent() {
  supervisor_ = std::make_unique<MpsSupervisor>(
      MpsPlaces{.driver_root = root(), .self = MPS_TRIAL, .host_mounts = host_mounts}, timings,
      compute_mode, log_);
  return *supervisor_;
}

void MpsNode::await(const std::function<bool(const MpsReport&)>& has, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto latest = supervisor_->reports().get();
  while (!has(*latest.value)) {
    if (std::chrono::steady_clock::now() > deadline) {
      FAIL() << "there was never " << what << "; the log:\n" << log_text();
    }
    latest = supervisor_->reports().wait_newer(latest.version, std::chrono::seconds(1));
  }
}

void MpsNode::await_state(const std::string& uuid, MpsState state) {
  await(
      [&](const MpsReport& report) {
        return std::ranges::any_of(report.daemons, [&](const MpsDaemonStatus& status) {
          return status.plan.name == uuid && status.state == state;
        });
      },
      uuid + " " + std::string(to_string(state)));
}

MpsDaemonStatus MpsNode::status(const std::string& uuid) {
  const auto report = supervisor_->reports().get().value;  // kept: it may be replaced
  for (const MpsDaemonStatus& status : report->daemons) {
    if (status.plan.name == uuid) return status;
  }
  return {};
}

MpsWiring MpsNode::wiring(const std::string& uuid) {
  const auto report = supervisor_->reports().get().value;
  const auto found = report->wirings.find(uuid);
  return found == report->wirings.end() ? MpsWiring{.problem = "none"} : found->second;
}

std::string MpsNode::ask(const std::string& uuid, const std::string& question) const {
  const Command command{
      .words = {root() + "/usr/bin/" + kControlProgram},
      .environment = {fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/pipe", folder(uuid))}};
  const Result<Finished> done = run_program(command, question + "\n", kPatience);
  return done ? done->out + done->err : done.error().message;
}

void MpsNode::behave(const std::string& uuid, const std::string& word) const {
  // Also before an agent: a folder with such a file is ours only with the mark.
  EXPECT_TRUE(make_own_folder(folder(uuid), FolderUse::kDaemon, MPS_TRIAL));
  std::ofstream(folder(uuid) + "/behave") << word;
}

UniqueFd MpsNode::connect_client(const std::string& uuid) const {
  UniqueFd fd = mps_standin::connect_to(folder(uuid) + "/client/control");
  mps_standin::say(fd.get(), "client");
  EXPECT_EQ(mps_standin::hear(fd.get()), "0");
  return fd;
}

pid_t MpsNode::let_stranger_in(const std::string& uuid, uid_t user, const std::string& word) {
  const std::string note = dir_.path("stranger");
  fs::remove(note);
  Command command{.words = {MPS_STRANGER, folder(uuid) + "/client/control", fmt::format("{}", user),
                            dir_.path()}};
  if (!word.empty()) command.words.push_back(word);
  const auto started = run_program(command, "", kPatience);
  EXPECT_TRUE(started && started->exit_code == 0);
  std::optional<pid_t> pid;
  await_condition(
      [&] {
        const auto text = read_file(note);
        if (text && text->ends_with("\n")) pid = parse_number<pid_t>(trim(*text));
        return pid.has_value();
      },
      "a stranger's connection");
  strangers_.push_back(pid.value_or(0));
  return strangers_.back();
}

std::vector<pid_t> MpsNode::processes(const std::string& uuid) const {
  return find_processes(fmt::format("CUDA_MPS_PIPE_DIRECTORY={}/pipe", folder(uuid)),
                        "nvidia-cuda-mps-");
}

void await_condition(const std::function<bool()>& holds, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) FAIL() << "it never came to: " << what;
    sleep_unless_stopped({}, std::chrono::milliseconds(5));
  }
}

}  // namespace tranche::tests
