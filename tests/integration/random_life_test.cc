// SPDX-License-Identifier: Apache-2.0
//
// No GPU and no byte is promised to two containers, by the real agent on a simulated
// driver, whatever is reconfigured, cut, lost, killed or hangs meanwhile: random lives.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "base/text.h"
#include "integration/never_twice.h"
#include "integration/node_api.h"

namespace tranche::tests {
namespace {

// What one container was promised, by the container's own variables and ids.
struct Promise {
  std::string device;
  bool whole = false;
  std::uint64_t mib = 0;
};

std::vector<Promise> promises_of(const standin::ContainerGrant& granted) {
  std::vector<Promise> promises;
  for (const auto& [resource, ids] : granted.devices) {
    std::map<std::string, Promise> by_device;
    const auto limit = granted.response.envs.find("TRANCHE_MEMORY_LIMIT_MIB");
    for (const std::string& id : ids) {
      const std::size_t mark = id.find("::");
      Promise& promise = by_device[id.substr(0, mark)];
      promise.device = id.substr(0, mark);
      promise.whole = mark == std::string::npos;
      if (!promise.whole && limit != granted.response.envs.end()) {
        promise.mib = parse_number<std::uint64_t>(limit->second).value_or(0);
      }
    }
    for (const auto& [device, promise] : by_device) promises.push_back(promise);
  }
  return promises;
}

constexpr const char* kNode = "life";

struct Life {
  unsigned seed = 0;
  bool by_label = false;  // the Node's label chooses the configuration, and the cluster sees all
};

std::ostream& operator<<(std::ostream& out, const Life& life) {
  return out << "seed " << life.seed << (life.by_label ? ", by label" : "");
}

// Lives of the agent, the kubelet and the node.
class RandomLife : public NeverTwice, public testing::WithParamInterface<Life> {
 protected:
  RandomLife() : random_(GetParam().seed) {
    if (!GetParam().by_label) return;
    std::filesystem::create_directories(path("configs"));
    for (std::size_t i = 0; i < configurations().size(); ++i) {
      write("configs/" + name_of(i), configurations()[i]);
    }
    api_.emplace(kNode);
    api_->set_labels({{"nvidia.com/device-plugin.config", name_of(0)}});
    write("kubeconfig", api_->kubeconfig());
  }

  std::vector<std::string> config_flags() const override {
    if (!api_) return NeverTwice::config_flags();
    return {"--config-dir=" + path("configs"),
            "--node-name=" + std::string(kNode),
            "--kubeconfig=" + path("kubeconfig"),
            "--gpu-node",
            "--node-events",
            "--node-condition=GpusHealthy",
            "--node-labels=api"};
  }

  void step() {
    switch (random_() % 14) {
      case 0:
      case 1:
      case 2:
      case 3: return admit_one();
      case 4:
      case 5: return remove_one();
      case 6:
      case 7: return reload();
      case 8: return restart_agent();
      case 9: return random_() % 2 == 0 ? restart_kubelet() : admit_one();
      case 10: return recut();
      case 11: return random_() % 2 == 0 ? lose_or_regain_limits() : fall_off_or_come_back();
      case 12: return reload_while_unhealthy();
      default: return reload_while_the_kubelet_is_slow();
    }
  }

  std::string wrong() const { return wrong_; }
  unsigned granted() const { return granted_; }

 private:
  static const std::vector<std::string>& configurations() {
    static const std::vector<std::string> all{
        mig_strategy("none"),
        mig_strategy("mixed"),
        time_slicing(3),
        policies(memory_row("10GiB", "none")),
        policies(memory_row("20GiB", "none")),
        policies(replica_row(2, "driver")),
        policies(replica_row(8, "driver")),
        policies(kWholeRow + memory_row("10GiB", "driver")),
        policies(kWholeRow + replica_row(4, "none")),
    };
    return all;
  }

  static std::string name_of(std::size_t configuration) {
    return "c" + std::to_string(configuration);
  }

  // By the label; by an editor that writes the file in two parts; or by one that puts it there
  // whole.
  void configure() {
    const std::size_t chosen = random_() % configurations().size();
    const bool is_slow = random_() % 2 == 0;
    const std::string& config = configurations()[chosen];
    if (api_) {
      api_->set_labels({{"nvidia.com/device-plugin.config", name_of(chosen)}});
    } else if (is_slow) {
      std::ofstream(path("config.yaml")) << config.substr(0, config.size() / 2);
      std::ofstream(path("config.yaml"), std::ios::app) << config.substr(config.size() / 2);
    } else {
      write("config.yaml", config);
    }
  }

  std::vector<std::string> connected() {
    std::vector<std::string> names;
    for (const auto& [name, resource] : kubelet_->node().resources) {
      if (resource.connected && resource.allocatable > 0) names.push_back(name);
    }
    return names;
  }

  // A reset takes the MIG devices away and leaves MIG on: such a GPU offers nothing until it is
  // cut again.
  bool can_offer_anything() const {
    const auto world = node_->world();
    return world && std::ranges::any_of(world->gpus, [](const sim::Gpu& gpu) {
             return gpu.state == sim::Gpu::State::kPresent &&
                    (!gpu.mig.enabled || !gpu.mig.instances.empty());
           });
  }

  void await_any_resource() {
    if (!can_offer_anything()) return;
    EXPECT_TRUE(kubelet_->wait_until(
        [](const standin::NodeView& node) {
          return std::ranges::any_of(node.resources, [](const auto& each) {
            return each.second.connected && !each.second.devices.empty();
          });
        },
        kPatience))
        << agent_->output();
  }

  void admit_one() {
    const std::vector<std::string> names = connected();
    if (!names.empty()) admit_of(names[random_() % names.size()]);
  }

  // Replicas one by one: their limit is the container's on each of its GPUs.
  void admit_of(const std::string& resource) {
    const std::int64_t count = resource == kMemory ? 1 + static_cast<int>(random_() % 3) : 1;
    const std::string name = "pod-" + std::to_string(++pods_);
    take(name, admit(name, {{resource, count}}));
  }

  void take(const std::string& name, const standin::AdmissionResult& result) {
    if (!result.admitted || result.containers.empty()) return;
    ++granted_;
    const std::vector<Promise> promises = promises_of(result.containers.front());
    for (const Promise& promise : promises) complain_about(name, promise);
    alive_[name] = promises;
  }

  void complain_about(const std::string& name, const Promise& promise) {
    const auto world = node_->world();
    ASSERT_TRUE(world);
    std::uint64_t mib = promise.mib;
    for (const auto& [other, theirs] : alive_) {
      for (const Promise& held : theirs) {
        if (are_relatives(*world, held.device, promise.device) ||
            (held.device == promise.device && (held.whole || promise.whole))) {
          wrong_ += name + " got " + promise.device + " beside " + other + "; ";
        }
        if (held.device == promise.device) mib += held.mib;
      }
    }
    for (const sim::Gpu& gpu : world->gpus) {
      if (gpu.uuid.text == promise.device && promise.mib > 0 && mib > gpu.model.memory_mib) {
        wrong_ += name + ": " + std::to_string(mib) + " MiB of " + promise.device + "; ";
      }
    }
  }

  // A GPU and a MIG device that it has now.
  static bool are_relatives(const sim::World& world, const std::string& one,
                            const std::string& other) {
    for (const sim::Gpu& gpu : world.gpus) {
      for (const sim::GpuInstance& instance : gpu.mig.instances) {
        for (const sim::ComputeInstance& slice : instance.compute) {
          const bool is_one = slice.uuid.text == one && gpu.uuid.text == other;
          if (is_one || (slice.uuid.text == other && gpu.uuid.text == one)) return true;
        }
      }
    }
    return false;
  }

  void remove_one() {
    if (alive_.empty()) return;
    const auto pod = std::next(alive_.begin(), static_cast<long>(random_() % alive_.size()));
    const std::string name = pod->first;
    alive_.erase(pod);
    remove(name);
  }

  // With a pod that is admitted by the old configuration at that very moment.
  void reload() {
    const std::vector<std::string> names = connected();
    const std::string name = "pod-" + std::to_string(++pods_);
    const std::size_t chosen = random_();
    std::optional<standin::AdmissionResult> result;
    {
      const std::jthread admission([&] {
        if (!names.empty()) result = admit(name, {{names[chosen % names.size()], 1}});
      });
      configure();
    }
    if (result) take(name, *result);
    await_any_resource();
  }

  // A name that goes has nothing but unhealthy devices.
  void reload_while_unhealthy() {
    if (!has_limits_) return reload();  // a call that hangs keeps a session from before a reset
    const auto world = node_->world();
    ASSERT_TRUE(world);
    const bool has_second = world->gpus[1].state == sim::Gpu::State::kPresent;
    const std::size_t before = log_mark();
    happens(sim::raise_xid(0U, {.number = 140}));
    if (has_second) happens(sim::raise_xid(1U, {.number = 140}));
    EXPECT_TRUE(kubelet_->wait_until(
        [](const standin::NodeView& node) {
          return std::ranges::all_of(node.resources,
                                     [](const auto& each) { return each.second.allocatable == 0; });
        },
        kPatience))
        << agent_->output();
    // A reset in the same scan as the fault is no evidence that the fault is over.
    expect_log_after(before, "device is unhealthy .*index=0 .*XID 140");
    reload();
    const std::size_t mark = log_mark();
    happens(sim::reset(0U));
    if (has_second) happens(sim::reset(1U));
    reopen_driver();  // a session from before the reset is of no use
    expect_log_after(mark, "device is healthy again .*index=0 ");
  }

  // Names that go take long to, others are served meanwhile, and some come back before
  // the kubelet has seen them go.
  void reload_while_the_kubelet_is_slow() {
    kubelet_->hold_stream_ends();
    reload();
    admit_one();
    if (random_() % 2 == 0) reload();
    admit_one();
    kubelet_->release_stream_ends();
    await_any_resource();
  }

  void restart_agent() {
    kill_agent();
    if (random_() % 2 == 0) configure();
    start();
    expect_log("tranche-device-plugin starts");  // from here on it takes signals
    await_any_resource();
  }

  void restart_kubelet() {
    ASSERT_TRUE(kubelet_->restart());
    await_any_resource();
    for (const standin::FoundPod& found : kubelet_->admit_found_pods()) {
      if (!found.result.admitted) alive_.erase(found.pod.name);
    }
  }

  // A GPU that is held may be cut as well: nothing of it may be given for that.
  void recut() {
    const auto gpu = static_cast<unsigned>(random_() % 2);
    const auto world = node_->world();
    ASSERT_TRUE(world);
    if (world->gpus[gpu].state != sim::Gpu::State::kPresent) return;
    const bool is_cut = !world->gpus[gpu].mig.instances.empty();
    happens(is_cut ? sim::mig_off(gpu) : cut_in_two(gpu));
  }

  void lose_or_regain_limits() {
    has_limits_ = !has_limits_;
    happens(has_limits_ ? sim::clear_faults() : sim::fail_call(kNoLimits));
    reopen_driver();
  }

  void fall_off_or_come_back() {
    const auto world = node_->world();
    ASSERT_TRUE(world);
    const bool is_there = world->gpus[1].state == sim::Gpu::State::kPresent;
    happens(is_there ? sim::fall_off(1U) : sim::come_back(1U));
  }

  std::mt19937 random_;
  std::optional<NodeApi> api_;                         // where the label chooses
  std::map<std::string, std::vector<Promise>> alive_;  // by pod
  unsigned pods_ = 0;
  unsigned granted_ = 0;
  bool has_limits_ = true;
  std::string wrong_;
};

TEST_P(RandomLife, NothingIsGivenTwice) {
  begin_with(mig_strategy("none"));
  expect_allocatable(kGpu, 2);
  for (int number = 0; number < 60; ++number) {
    step();
    ASSERT_EQ(wrong(), "") << "step " << number << "\n" << agent_->output();
  }
  EXPECT_GT(granted(), 2U) << "the life was too quiet to show anything";
}

INSTANTIATE_TEST_SUITE_P(Seed, RandomLife, testing::Values(Life{1}, Life{2}, Life{3, true}));

}  // namespace
}  // namespace tranche::tests
