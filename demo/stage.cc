// SPDX-License-Identifier: Apache-2.0
#include "demo/stage.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <future>
#include <utility>

#include "demo/world.h"
#include "os/files.h"

namespace tranche::demo {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How soon we notice that the person wants to go.
constexpr milliseconds kMoment = 50ms;
// Long enough for a loaded machine; waited out only where something is wrong.
constexpr milliseconds kPatience = 60s;
// The agent ends in a fraction of this; after it, it is killed.
constexpr milliseconds kPatienceAtTheEnd = 1500ms;
constexpr std::size_t kTailLines = 20;

}  // namespace

Result<std::unique_ptr<Stage>> Stage::set_up(const Parts& parts, Interrupt& interrupt) {
  Result<ScratchFolder> folder = ScratchFolder::make(temporary_folders());
  if (!folder) return folder.error();
  const Result<sim::World> world = demo_world();
  if (!world) return world.error();
  if (Status made = make_directories(folder->path("dp")); !made) return made.error();
  Result<sim::SimulatedNode> node =
      sim::SimulatedNode::create(folder->path("node"), *world, {.library = parts.driver_library});
  if (!node) return node.error().in("making the simulated node");
  return std::unique_ptr<Stage>(
      new Stage(parts.agent, interrupt, *std::move(folder), *std::move(node)));
}

Stage::Stage(std::string agent, Interrupt& interrupt, ScratchFolder folder, sim::SimulatedNode node)
    : agent_path_(std::move(agent)),
      interrupt_(interrupt),
      folder_(std::move(folder)),
      node_(std::move(node)) {}

Stage::~Stage() {
  if (agent_ && agent_->signal(SIGTERM)) {
    // One that does not end now is killed with its object.
    static_cast<void>(agent_->wait_for_end(kPatienceAtTheEnd));
  }
}

Status Stage::start_kubelet() {
  kubelet_ =
      std::make_unique<standin::Kubelet>(standin::KubeletOptions{.directory = folder_.path("dp")});
  return kubelet_->start();
}

Status Stage::start_agent() {
  // Of our own environment it gets nothing: a variable that configures a real
  // agent on this machine must not change the story.
  auto started = standin::AgentProcess::start(
      {.command = {agent_path_}, .environment = environment(), .inherits_environment = false});
  if (!started) return started.error();
  agent_ = *std::move(started);
  return Done{};
}

Status Stage::check_agent() const {
  if (!agent_) return Done{};
  const auto end = agent_->wait_for_end(0ms);
  if (!end) return Done{};
  return Error{ErrorCode::kUnavailable, "the agent has " + to_string(*end)};
}

std::map<std::string, std::string> Stage::environment() const {
  return {{"CDI_DIR", folder_.path("cdi")},
          {"CONFIG_FILE", config_file()},
          {"DRIVER_ROOT_CTR_PATH", node_.root()},
          {"HEALTH_CHECK_INTERVAL", "250ms"},
          {"HOST_ROOT", node_.root()},
          {"KUBELET_SOCKET", folder_.path("dp/kubelet.sock")},
          {"STATE_DIR", folder_.path("state")}};
}

bool Stage::has_device_nodes() const {
  struct stat info{};
  return ::lstat(node_.path("/dev/nvidiactl").c_str(), &info) == 0 && S_ISCHR(info.st_mode);
}

Result<standin::AdmissionResult> Stage::admit(const standin::Pod& pod) {
  // The kubelet waits for the agent without a limit, and so would we.
  auto result = std::async(std::launch::async, [&] { return kubelet_->admit(pod); });
  Status answered = await("the agent's answer for pod " + pod.name,
                          [&] { return result.wait_for(kMoment) == std::future_status::ready; });
  if (answered) return result.get();
  // Only its end ends the call.
  static_cast<void>(agent_->signal(SIGKILL));
  return answered.error();
}

Status Stage::write_config(const std::string& text) const {
  return write_atomically(config_file(), text);
}

Result<std::string> Stage::command(const std::string& name) {
  auto started = standin::AgentProcess::start({.command = {agent_path_, name},
                                               .environment = environment(),
                                               .inherits_environment = false});
  if (!started) return started.error();
  standin::AgentProcess& process = **started;
  standin::ProcessEnd end;
  Status ended = await("'" + name + "' to answer", [&] {
    const auto found = process.wait_for_end(kMoment);
    if (found) end = *found;
    return bool(found);
  });
  if (!ended) return ended.error();
  if (end.exit_code != 0) {
    return Error{ErrorCode::kUnavailable,
                 "'" + name + "' has " + to_string(end) + "\n" + process.output()};
  }
  std::string text;
  for (const auto& line : process.lines()) text += (text.empty() ? "" : "\n") + line.text;
  return text;
}

std::string Stage::typed_command(const std::string& name) const {
  return "STATE_DIR=" + folder_.path("state") + " " + agent_path_ + " " + name;
}

std::vector<std::string> Stage::take_log() {
  std::vector<std::string> texts;
  if (!agent_) return texts;
  const auto lines = agent_->lines();
  for (std::size_t i = log_taken_; i < lines.size(); ++i) texts.push_back(lines[i].text);
  log_taken_ = lines.size();
  return texts;
}

std::string Stage::log_tail() const {
  if (!agent_) return "";
  const auto lines = agent_->lines();
  std::string tail;
  for (std::size_t i = lines.size() - std::min(lines.size(), kTailLines); i < lines.size(); ++i) {
    tail += lines[i].text + "\n";
  }
  return tail;
}

Result<std::string> Stage::await_log(const std::string& regex) {
  std::size_t index = 0;
  Status came = await("a line in the agent's log: " + regex, [&] {
    const auto match = agent_->wait_for_line(regex, kMoment, log_taken_);
    if (match) index = match->index;
    return bool(match);
  });
  if (!came) return came.error();
  return agent_->lines().at(index).text;
}

Status Stage::await_counts(const std::string& resource, const standin::ResourceCount& counts) {
  const auto holds = [&](const standin::NodeView& node) {
    return node.allocatable(resource) == counts.allocatable &&
           node.capacity(resource) == counts.capacity;
  };
  return await(std::to_string(counts.allocatable) + " of " + std::to_string(counts.capacity) + " " +
                   resource + " allocatable",
               [&] { return kubelet_->wait_until(holds, kMoment); });
}

bool Stage::node_becomes(const NodeCondition& holds) {
  return kubelet_->wait_until(holds, kMoment);
}

Status Stage::await(const std::string& what, const std::function<bool()>& try_once) {
  const auto deadline = steady_clock::now() + kPatience;
  while (steady_clock::now() < deadline) {
    if (interrupt_.asked()) return Error{ErrorCode::kUnavailable, "interrupted"};
    if (try_once()) return Done{};
    if (const Status alive = check_agent(); !alive) return alive.error().in("waiting for " + what);
  }
  return Error{ErrorCode::kUnavailable, "it did not come: " + what};
}

}  // namespace tranche::demo
