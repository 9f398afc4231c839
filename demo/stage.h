// SPDX-License-Identifier: Apache-2.0
//
// What the story is played on: a folder with a simulated node in it, the
// kubelet's stand-in in this process, and the real agent as a child. Goes with
// all of them, in the right order.
//
// Every wait ends when its condition holds, when the agent ends, or when the
// person asks for the end. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/interrupt.h"
#include "demo/parts.h"
#include "demo/scratch_folder.h"
#include "testbed/kubelet/kubelet.h"
#include "testbed/node/simulated_node.h"
#include "testbed/process/agent_process.h"

namespace tranche::demo {

class Stage {
 public:
  // Makes folder and node; starts nothing yet.
  static Result<std::unique_ptr<Stage>> set_up(const Parts& parts, Interrupt& interrupt);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  Status start_kubelet();
  Status start_agent();
  // An error when it was started and has ended.
  Status check_agent() const;

  const std::string& folder() const { return folder_.path(); }
  const sim::SimulatedNode& node() const { return node_; }
  standin::Kubelet& kubelet() { return *kubelet_; }
  // A pod that arrives at the kubelet. An error: nobody answered.
  Result<standin::AdmissionResult> admit(const standin::Pod& pod);
  // Whether the node has device nodes, and not only files with their names.
  bool has_device_nodes() const;

  std::string config_file() const { return folder_.path("config.yaml"); }
  Status write_config(const std::string& text) const;

  // What a sub-command of the agent's binary prints.
  Result<std::string> command(const std::string& name);
  // The same for a person to type elsewhere.
  std::string typed_command(const std::string& name) const;

  // The agent's log: the lines since the last call, and one that is to come
  // after them.
  std::vector<std::string> take_log();
  Result<std::string> await_log(const std::string& regex);
  // Its last lines.
  std::string log_tail() const;

  using NodeCondition = std::function<bool(const standin::NodeView&)>;
  // Until the kubelet counts so many of the resource.
  Status await_counts(const std::string& resource, const standin::ResourceCount& counts);
  // Whether it holds within a moment.
  bool node_becomes(const NodeCondition& holds);

 private:
  Stage(std::string agent, Interrupt& interrupt, ScratchFolder folder, sim::SimulatedNode node);

  // `try_once` waits for a moment itself.
  Status await(const std::string& what, const std::function<bool()>& try_once);
  std::map<std::string, std::string> environment() const;

  const std::string agent_path_;
  Interrupt& interrupt_;
  // In the order of their making; they go the other way round.
  const ScratchFolder folder_;
  const sim::SimulatedNode node_;
  std::unique_ptr<standin::Kubelet> kubelet_;
  std::unique_ptr<standin::AgentProcess> agent_;
  std::size_t log_taken_ = 0;  // lines
};

}  // namespace tranche::demo
