// SPDX-License-Identifier: Apache-2.0
#include "integration/node_story.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "os/files.h"
#include "testbed/worlds/builtin.h"

namespace tranche::tests {

NodeStory::NodeStory() { std::filesystem::create_directories(dir_.path("dp")); }

void NodeStory::begin(const std::string& world, std::vector<std::string> flags,
                      std::map<std::string, std::string> environment) {
  make_node(world);
  start_kubelet();
  start_agent(std::move(flags), std::move(environment));
}

void NodeStory::make_node(const std::string& world) {
  const auto parsed = sim::builtin_world(world);
  ASSERT_TRUE(parsed) << parsed.error().message;
  // Real device nodes where they can be made: CDI specifications tell them from
  // files.
  const auto made =
      sim::SimulatedNode::create(dir_.path("root"), *parsed, {.plain_files = ::geteuid() != 0});
  ASSERT_TRUE(made) << made.error().message;
  node_ = *made;
}

void NodeStory::start_kubelet(standin::KubeletOptions options) {
  options.directory = dir_.path("dp");
  kubelet_ = std::make_unique<standin::Kubelet>(std::move(options));
  const Status started = kubelet_->start();
  ASSERT_TRUE(started) << started.error().message;
}

std::vector<std::string> NodeStory::base_flags() const {
  return {"--kubelet-socket=" + dir_.path("dp/kubelet.sock"),
          "--driver-root-ctr-path=" + dir_.path("root"),
          "--host-root=" + dir_.path("root"),
          "--state-dir=" + dir_.path("state"),
          "--cdi-dir=" + dir_.path("cdi"),
          "--health-check-interval=100ms"};
}

void NodeStory::start_agent(std::vector<std::string> flags,
                            std::map<std::string, std::string> environment) {
  std::vector<std::string> words{TRANCHE_AGENT};
  for (const std::string& flag : base_flags()) words.push_back(flag);
  for (std::string& flag : flags) words.push_back(std::move(flag));
  auto started = standin::AgentProcess::start(
      {.command = std::move(words), .environment = std::move(environment)});
  ASSERT_TRUE(started) << started.error().message;
  agent_ = *std::move(started);
}

void NodeStory::stop_agent() {
  ASSERT_TRUE(agent_->signal(SIGTERM));
  const auto end = agent_->wait_for_end(kPatience);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, (standin::ProcessEnd{.exit_code = 0})) << agent_->output();
}

void NodeStory::kill_agent() {
  ASSERT_TRUE(agent_->signal(SIGKILL));
  ASSERT_TRUE(agent_->wait_for_end(kPatience));
}

void NodeStory::happens(const sim::Change& change) {
  const Status applied = node_->apply(change);
  ASSERT_TRUE(applied) << applied.error().message;
}

void NodeStory::expect_allocatable(const std::string& resource, std::int64_t count) {
  EXPECT_TRUE(kubelet_->wait_for_allocatable(resource, count, kPatience))
      << resource << " has " << kubelet_->node().allocatable(resource) << " allocatable, not "
      << count << "\n"
      << agent_->output();
}

void NodeStory::expect_capacity(const std::string& resource, std::int64_t count) {
  EXPECT_TRUE(kubelet_->wait_until(
      [&](const standin::NodeView& node) { return node.capacity(resource) == count; }, kPatience))
      << resource << " has capacity " << kubelet_->node().capacity(resource) << ", not " << count
      << "\n"
      << agent_->output();
}

void NodeStory::expect_log(const std::string& regex) { expect_log_after(0, regex); }

void NodeStory::expect_log_after(std::size_t mark, const std::string& regex) {
  const auto found = agent_->wait_for_line(regex, kPatience, mark);
  EXPECT_TRUE(found) << found.error().message;
}

standin::AdmissionResult NodeStory::admit(const std::string& name, const standin::Limits& limits) {
  return kubelet_->admit(
      {.uid = name, .name = name, .containers = {{.name = "main", .limits = limits}}});
}

standin::ContainerResponse NodeStory::granted(const std::string& name,
                                              const standin::Limits& limits) {
  const standin::AdmissionResult result = admit(name, limits);
  EXPECT_TRUE(result.admitted) << result.reason << ": " << result.message;
  return result.admitted ? result.containers.at(0).response : standin::ContainerResponse{};
}

void NodeStory::remove(const std::string& name) {
  kubelet_->remove({.uid = name, .name = name});
  kubelet_->free_ended_pods();
}

NodeStory::CommandResult NodeStory::command(std::vector<std::string> words) {
  words.insert(words.begin(), TRANCHE_AGENT);
  for (const std::string& flag : base_flags()) words.push_back(flag);
  auto started = standin::AgentProcess::start({.command = std::move(words)});
  EXPECT_TRUE(started);
  const auto end = (*started)->wait_for_end(kPatience);
  EXPECT_TRUE(end);
  CommandResult result{.exit_code = end ? end->exit_code : -1};
  for (const auto& line : (*started)->lines()) {
    (line.stream == standin::AgentProcess::Stream::kOutput ? result.output : result.error) +=
        line.text + "\n";
  }
  return result;
}

std::string NodeStory::agent_socket() const {
  const auto names = list_directory(dir_.path("dp"));
  if (!names) return {};
  for (const std::string& name : *names) {
    if (name.starts_with("tranche-") && name.ends_with(".sock")) return dir_.path("dp/" + name);
  }
  return {};
}

std::size_t NodeStory::count_events(standin::EventKind kind, const std::string& resource) {
  const auto events = kubelet_->transcript().events();
  return static_cast<std::size_t>(std::ranges::count_if(events, [&](const auto& event) {
    return event.kind == kind && (resource.empty() || event.resource == resource);
  }));
}

void NodeStory::write(const std::string& name, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(dir_.path(name)).parent_path());
  std::ofstream(dir_.path(name)) << content;
}

}  // namespace tranche::tests
