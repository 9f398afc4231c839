// SPDX-License-Identifier: Apache-2.0
#include "bench/node_folder.h"

#include "base/path.h"
#include "os/files.h"
#include "testbed/node/simulated_node.h"
#include "testbed/worlds/builtin.h"

namespace tranche::bench {
namespace {

std::string root(const std::string& folder) { return below(folder, "root"); }
std::string config(const std::string& folder) { return below(folder, "config.yaml"); }

}  // namespace

Status make_node(const Scenario& scenario, const std::string& folder) {
  const Result<sim::World> world = sim::builtin_world(scenario.world);
  if (!world) return world.error();
  const auto node = sim::SimulatedNode::create(root(folder), *world, {.plain_files = true});
  if (!node) return node.error();
  return write_atomically(config(folder), config_of(scenario));
}

std::vector<std::string> agent_command(const std::string& agent, const Scenario& scenario,
                                       const std::string& folder,
                                       const std::string& kubelet_socket) {
  std::vector<std::string> words{agent,
                                 "--kubelet-socket=" + kubelet_socket,
                                 "--driver-root-ctr-path=" + root(folder),
                                 "--host-root=" + root(folder),
                                 "--state-dir=" + below(folder, "state"),
                                 "--cdi-dir=" + below(folder, "cdi")};
  if (!config_of(scenario).empty()) words.push_back("--config-file=" + config(folder));
  return words;
}

}  // namespace tranche::bench
