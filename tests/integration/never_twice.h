// SPDX-License-Identifier: Apache-2.0
//
// A node for stories about what is given to two containers, and its configurations.
#pragma once

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "integration/node_story.h"
#include "testbed/world/changes.h"
#include "testbed/worlds/builtin.h"

namespace tranche::tests {

inline constexpr const char* kMemory = "example.com/mem";
inline constexpr const char* kReplicas = "example.com/part";
inline constexpr const char* kSlice = "nvidia.com/mig-3g.71gb";

inline std::string policies(const std::string& rows) {
  return "version: v1\ntranche:\n  policies:\n" + rows;
}
inline const std::string kWholeRow = "    - {resource: nvidia.com/gpu, share: whole}\n";

inline std::string memory_row(const std::string& unit, const std::string& enforcement) {
  return "    - {resource: example.com/mem, share: memory, unit: " + unit +
         ", enforcement: " + enforcement + "}\n";
}

inline std::string replica_row(int replicas, const std::string& enforcement) {
  return "    - {resource: example.com/part, share: replicas, replicas: " +
         std::to_string(replicas) + ", enforcement: " + enforcement + "}\n";
}

inline std::string mig_strategy(const std::string& strategy) {
  return "version: v1\nflags:\n  migStrategy: " + strategy + "\n";
}

inline std::string time_slicing(int replicas) {
  return "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
         "      - {name: nvidia.com/gpu, replicas: " +
         std::to_string(replicas) + "}\n";
}

inline sim::Change cut_in_two(unsigned gpu) {
  return sim::set_mig(gpu, {{.profile = "3g.71gb"}, {.profile = "3g.71gb"}});
}

// As a driver before R615 answers.
inline const sim::Failure kNoLimits{.call = "nvmlDeviceGetMemoryLimits",
                                    .code = 3};  // not supported

// Two GPUs of a driver that can limit memory, and a kubelet that lists allocations.
class NeverTwice : public NodeStory {
 protected:
  void begin_with(const std::string& config) {
    auto world = sim::builtin_world("hgx-h200");
    ASSERT_TRUE(world) << world.error().message;
    world->driver.version = world->driver.module_version = "615.10.01";
    world->gpus.resize(2);
    const auto made =
        sim::SimulatedNode::create(path("root"), *world, {.plain_files = ::geteuid() != 0});
    ASSERT_TRUE(made) << made.error().message;
    node_ = *made;
    start_kubelet({.pod_resources_directory = path("pods")});
    write("config.yaml", config);
    start();
  }

  void start() {
    std::vector<std::string> flags = config_flags();
    flags.insert(flags.end(), {"--fail-on-init-error=false", "--driver-call-timeout=2s",
                               "--pod-resources-socket=" + kubelet_->pod_resources_path()});
    start_agent(std::move(flags));
  }

  virtual std::vector<std::string> config_flags() const {
    return {"--config-file=" + path("config.yaml")};
  }

  // A new session with the driver. Where a resource is named, the kubelet has seen in between
  // that none of its shares is usable: a list of before is not taken for the one after.
  void reopen_driver(const std::string& resource = {}) {
    const std::size_t mark = log_mark();
    ASSERT_TRUE(agent_->signal(SIGUSR1));
    expect_log_after(mark, "driver closed by release");
    if (!resource.empty()) expect_allocatable(resource, 0);
    ASSERT_TRUE(agent_->signal(SIGUSR2));
    expect_log_after(mark, "driver reopened by resume");
  }
};

}  // namespace tranche::tests
