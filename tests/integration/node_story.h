// SPDX-License-Identifier: Apache-2.0
//
// A story on a simulated node: the real agent as a process of its own, the
// simulated driver below it, and the kubelet's stand-in above. Nothing here
// sleeps: every step waits for what it is about.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/testing/temp_dir.h"
#include "testbed/kubelet/kubelet.h"
#include "testbed/node/simulated_node.h"
#include "testbed/process/agent_process.h"

namespace tranche::tests {

// Long enough for a loaded machine under a sanitizer; no story waits it out
// unless it fails.
inline constexpr std::chrono::seconds kPatience{60};

inline constexpr const char* kGpu = "nvidia.com/gpu";

class NodeStory : public testing::Test {
 protected:
  NodeStory();

  // Makes the node and starts kubelet and agent; waits until `resource` has
  // been listed, where one is named.
  void begin(const std::string& world, std::vector<std::string> flags = {},
             std::map<std::string, std::string> environment = {});

  void make_node(const std::string& world);
  // In the node's folder, whatever the options name.
  void start_kubelet(standin::KubeletOptions options = {});
  void start_agent(std::vector<std::string> flags = {},
                   std::map<std::string, std::string> environment = {});
  void stop_agent();
  // Kills it without a chance to tidy up.
  void kill_agent();

  // Something happens to the driver or its GPUs.
  void happens(const sim::Change& change);

  void expect_allocatable(const std::string& resource, std::int64_t count);
  void expect_capacity(const std::string& resource, std::int64_t count);
  void expect_log(const std::string& regex);
  // The same, in lines from now on.
  std::size_t log_mark() const { return agent_->lines().size(); }
  void expect_log_after(std::size_t mark, const std::string& regex);

  standin::AdmissionResult admit(const std::string& name, const standin::Limits& limits);
  // What the only container of a pod that was admitted got.
  standin::ContainerResponse granted(const std::string& name, const standin::Limits& limits);
  void remove(const std::string& name);

  // Runs a sub-command of the binary against the running agent's state folder.
  struct CommandResult {
    int exit_code = -1;
    std::string output;
    std::string error;
  };
  CommandResult command(std::vector<std::string> words);

  // The socket that the agent serves its first resource on.
  std::string agent_socket() const;

  std::size_t count_events(standin::EventKind kind, const std::string& resource = {});

  void write(const std::string& name, const std::string& content);
  std::string path(const std::string& name) const { return dir_.path(name); }
  std::vector<std::string> base_flags() const;

  TempDir dir_;
  std::optional<sim::SimulatedNode> node_;
  std::unique_ptr<standin::Kubelet> kubelet_;
  std::unique_ptr<standin::AgentProcess> agent_;
};

}  // namespace tranche::tests
