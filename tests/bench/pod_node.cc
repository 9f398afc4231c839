// SPDX-License-Identifier: Apache-2.0
#include "bench/pod_node.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/path.h"
#include "bench/node_folder.h"
#include "os/files.h"

namespace tranche::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr const char* kResource = "nvidia.com/gpu";

// Names and uids are as long as a Deployment's.
standin::Pod make_pod(int number) {
  return {.uid = fmt::format("5b1f6a52-6a0e-4a7b-9f0c-{:012}", number),
          .name = fmt::format("inference-server-6d5f7c9b8-p{:04}", number),
          .ns = "research",
          .containers = {{.name = "server", .limits = {{kResource, 1}}}}};
}

}  // namespace

PodNode::PodNode(std::unique_ptr<standin::Kubelet> kubelet, Child child, std::string output)
    : kubelet_(std::move(kubelet)), child_(std::move(child)), output_(std::move(output)) {}

Result<std::unique_ptr<PodNode>> PodNode::start(const std::string& agent,
                                                const ApiScenario& scenario,
                                                const std::string& folder,
                                                const std::vector<std::string>& flags) {
  if (Status made = make_node(scenario.node, folder); !made) return made.error();
  auto kubelet = std::make_unique<standin::Kubelet>(standin::KubeletOptions{
      .directory = below(folder, "dp"), .pod_resources_directory = below(folder, "pr")});
  for (const char* const name : {"dp", "pr"}) {
    if (Status made = make_directories(below(folder, name)); !made) return made.error();
  }
  if (Status started = kubelet->start(); !started) return started.error();

  std::vector<std::string> command =
      agent_command(agent, scenario.node, folder, kubelet->socket_path());
  command.push_back("--pod-resources-socket=" + kubelet->pod_resources_path());
  command.insert(command.end(), flags.begin(), flags.end());
  const std::string output = below(folder, "output");
  Result<Child> child = Child::start(command, output);
  if (!child) return child.error();
  auto node = std::unique_ptr<PodNode>(new PodNode(std::move(kubelet), *std::move(child), output));
  if (Status admitted = node->admit(scenario.pods); !admitted) {
    return admitted.error().in(node->output());
  }
  return node;
}

Status PodNode::admit(int pods) {
  const auto has_shares = [](const standin::NodeView& view) {
    return view.allocatable(kResource) > 0;
  };
  if (!kubelet_->wait_until(has_shares, kPatience)) {
    return Error{ErrorCode::kUnavailable, "the agent does not register"};
  }
  for (int i = 0; i < pods; ++i) {
    const standin::AdmissionResult result = kubelet_->admit(make_pod(i));
    if (!result.admitted) {
      return Error{ErrorCode::kInternal,
                   fmt::format("pod {} is rejected: {}: {}", i, result.reason, result.message)};
    }
  }
  return Done{};
}

std::string PodNode::output() const {
  const Result<std::string> said = read_file(output_);
  return said ? *said : said.error().message;
}

Status PodNode::stop() {
  const Result<std::chrono::nanoseconds> took = child_.stop(kPatience);
  return took ? Status(Done{}) : took.error().in(output());
}

}  // namespace tranche::bench
