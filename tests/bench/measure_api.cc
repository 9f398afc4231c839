// SPDX-License-Identifier: Apache-2.0
#include "bench/measure_api.h"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/path.h"
#include "bench/api_server.h"
#include "bench/pod_node.h"
#include "os/files.h"

namespace tranche::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr const char* kNode = "gpu-node-1";

struct Activities {
  ActivityFigures on;
  ActivityFigures off;
};

class Comparison {
 public:
  Comparison(std::string agent, const ApiScenario& scenario, std::string folder)
      : agent_(std::move(agent)),
        scenario_(scenario),
        folder_(std::move(folder)),
        server_(kNode),
        measured_{.scenario = scenario.name} {}

  Result<ApiMeasurement> run() {
    for (const auto step :
         {&Comparison::start, &Comparison::rest, &Comparison::look_at_memory, &Comparison::stop}) {
      if (Status done = (this->*step)(); !done) return done.error().in(scenario_.name);
    }
    return std::move(measured_);
  }

 private:
  Status start() {
    for (const char* const name : {"on", "off"}) {
      if (Status made = make_directories(below(folder_, name)); !made) return made;
    }
    const Result<std::string> kubeconfig = server_.write_kubeconfig(folder_);
    if (!kubeconfig) return kubeconfig.error();
    Result<std::unique_ptr<PodNode>> off =
        PodNode::start(agent_, scenario_, below(folder_, "off"), {});
    if (!off) return off.error();
    Result<std::unique_ptr<PodNode>> on = PodNode::start(
        agent_, scenario_, below(folder_, "on"),
        {"--gpu-node", "--node-events", "--node-condition=GpusHealthy", "--node-labels=api",
         std::string("--node-name=") + kNode, "--kubeconfig=" + *kubeconfig});
    if (!on) return on.error();
    on_ = *std::move(on);
    off_ = *std::move(off);
    const auto holders = static_cast<std::size_t>(scenario_.pods);
    if (Status reported = server_.wait_until_reported(holders, kPatience); !reported) {
      return reported.error().in(on_->output());
    }
    return Done{};
  }

  Status rest() {
    std::this_thread::sleep_for(scenario_.node.settle);
    const Result<Activities> before = activities();
    if (!before) return before.error();
    const ApiWrites written_before = server_.writes();
    std::this_thread::sleep_for(scenario_.node.rest / 2);
    server_.refresh_node();
    std::this_thread::sleep_for(scenario_.node.rest / 2);
    const ApiWrites written_after = server_.writes();
    const Result<Activities> after = activities();
    if (!after) return after.error();
    measured_.on.rest = rest_between(before->on, after->on, scenario_.node.rest);
    measured_.off.rest = rest_between(before->off, after->off, scenario_.node.rest);
    measured_.writes_per_min = per_minute(written_after.count - written_before.count);
    measured_.written_bytes_per_min = per_minute(written_after.bytes - written_before.bytes);
    return Done{};
  }

  Result<Activities> activities() const {
    const Result<ActivityFigures> on = activity_of(on_->pid());
    if (!on) return on.error();
    const Result<ActivityFigures> off = activity_of(off_->pid());
    if (!off) return off.error();
    return Activities{*on, *off};
  }

  double per_minute(std::uint64_t count) const {
    const double seconds = std::chrono::duration<double>(scenario_.node.rest).count();
    return static_cast<double>(count) * 60 / seconds;
  }

  Status look_at_memory() {
    for (const auto& [node, side] :
         {std::pair{on_.get(), &measured_.on}, {off_.get(), &measured_.off}}) {
      const Result<MemoryFigures> memory = memory_of(node->pid());
      if (!memory) return memory.error();
      side->memory = *memory;
    }
    return Done{};
  }

  Status stop() {
    if (Status stopped = on_->stop(); !stopped) return stopped;
    return off_->stop();
  }

  const std::string agent_;
  const ApiScenario& scenario_;
  const std::string folder_;
  ApiServer server_;
  std::unique_ptr<PodNode> on_;
  std::unique_ptr<PodNode> off_;
  ApiMeasurement measured_;
};

}  // namespace

Result<ApiMeasurement> measure_api(const std::string& agent, const ApiScenario& scenario,
                                   const std::string& folder) {
  return Comparison(agent, scenario, folder).run();
}

}  // namespace tranche::bench
