// SPDX-License-Identifier: Apache-2.0
//
// Random lives of a node, and what the agent lists of it: after each step the
// simulated world is the truth that the inventory is compared with.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "base/path.h"
#include "base/text.h"
#include "node/driver/nvml/nvml_source.h"
#include "node/driver/nvml/testing/node_life.h"
#include "node/driver/scanner.h"
#include "os/testing/temp_dir.h"
#include "testbed/node/simulated_node.h"

namespace tranche::node::nvml {
namespace {

using std::chrono::milliseconds;

// A driver whose next reading can fail, which ends the session. It delivers events between two
// scans, where the agent waits for them.
class InterruptedSource final : public GpuSource {
 public:
  explicit InterruptedSource(GpuSource& inner) : inner_(inner) {}

  Status open() override { return inner_.open(); }
  void close() override { inner_.close(); }
  Result<DriverReading> read(const ReadRequest& request) override {
    if (std::exchange(interrupts_, false)) return Error{ErrorCode::kUnavailable, "interrupted"};
    return inner_.read(request);
  }
  Result<std::vector<DriverEvent>> wait(milliseconds at_most) override {
    return inner_.wait(at_most);
  }

  void interrupt() { interrupts_ = true; }
  void take_events() {
    while (true) {
      const auto events = inner_.wait(milliseconds(0));
      if (!events || events->empty()) return;
    }
  }

 private:
  GpuSource& inner_;
  bool interrupts_ = false;
};

struct Agent {
  Agent(const sim::SimulatedNode& node, const std::string& memory_file, Log& log)
      : driver({.container_root = node.root(), .call_patience = std::chrono::seconds(60)},
               KernelFiles(node.root()), log),
        source(driver),
        scanner(source, KernelFiles(node.root()), memory_file, log,
                [this](const Inventory& now) { inventory = now; }) {}

  NvmlSource driver;
  InterruptedSource source;
  Inventory inventory;
  Scanner scanner;
};

std::string number(const std::optional<unsigned>& value) {
  return value ? std::to_string(*value) : "none";
}

// Every fact of a GPU that others rely on, in one text.
std::string facts(const Gpu& gpu) {
  std::string text = fmt::format("{} minor {} at {} {} {} MiB{}", gpu.uuid.text, number(gpu.minor),
                                 gpu.pci ? to_string(*gpu.pci) : "none", gpu.model,
                                 gpu.memory_bytes >> 20, gpu.mig_enabled ? " MIG" : "");
  for (const MigDevice& mig : gpu.mig) {
    text += fmt::format("; {} {} {}/{} {} {} MiB caps {} {}", mig.index, mig.uuid.text,
                        mig.gpu_instance, mig.compute_instance, to_string(mig.profile),
                        mig.memory_bytes >> 20, number(mig.gpu_instance_cap),
                        number(mig.compute_instance_cap));
  }
  return text;
}

std::string facts(const sim::Gpu& gpu) {
  std::string text =
      fmt::format("{} minor {} at {} {} {} MiB{}", gpu.uuid.text, gpu.minor, to_string(gpu.pci),
                  gpu.model.name, gpu.model.memory_mib, gpu.mig.enabled ? " MIG" : "");
  std::map<unsigned, std::string> devices;
  for (const auto& [instance, compute] : sim::list_mig_devices(gpu)) {
    devices[compute->index] =
        fmt::format("; {} {} {}/{} {} {} MiB caps {} {}", compute->index, compute->uuid.text,
                    instance->id, compute->id, sim::profile_name(gpu, *instance, *compute),
                    sim::find_profile(gpu.model.mig, instance->profile)->memory_mib,
                    sim::gpu_instance_cap(gpu.minor, instance->id),
                    sim::compute_instance_cap(gpu.minor, instance->id, compute->id));
  }
  for (const auto& [index, device] : devices) text += device;
  return text;
}

// Whether it answers every call, at the latest at the second scan.
bool answers(const sim::World& world, const sim::Gpu& gpu) {
  return gpu.state == sim::Gpu::State::kPresent &&
         std::ranges::none_of(world.faults, [&](const sim::CallFault& fault) {
           return fault.gpu == gpu.uuid && !fault.times;
         });
}

bool has_faults(const sim::World& world, const sim::Gpu& gpu) {
  return std::ranges::any_of(world.faults,
                             [&](const sim::CallFault& fault) { return fault.gpu == gpu.uuid; });
}

class InventoryLife {
 public:
  explicit InventoryLife(std::uint64_t seed)
      : life_(seed),
        node_(*sim::SimulatedNode::create(dir_.path("root"), life_.first_world(),
                                          {.plain_files = true})) {
    start_agent();
  }

  void step() {
    const sim::World before = *node_.world();
    sim::World world = before;
    if (!life_.happen(world)) return;
    EXPECT_TRUE(node_.apply([&](const sim::World&) -> Result<sim::World> { return world; }));
    lines_.clear();
    if (life_.xid_on()) note_xid(before, world, *life_.xid_on());
    if (life_.below(2) == 0) agent_->source.take_events();
    // In the session that was open while it happened.
    if (agent_->scanner.scan_once()) check_what_is_in_the_session();
    end_session();
    for (int look = 0; look < 3; ++look) {
      EXPECT_TRUE(agent_->scanner.scan_once());
      check_names();
    }
    check_everything();
  }

  const std::string& history() const { return life_.history(); }

 private:
  // If the GPU was also reset since the last scan, the order is unknown.
  void note_xid(const sim::World& before, const sim::World& world, const GpuUuid& uuid) {
    const sim::Gpu* was = sim::find_gpu(before, uuid);
    const unsigned generation = sim::find_gpu(world, uuid)->generation;
    xid_generation_.reset();
    faulty_.erase(uuid);
    if (was != nullptr && was->generation == generation) xid_generation_ = generation;
  }

  void end_session() {
    const unsigned how = life_.below(8);
    restarted_ = how > 5;
    if (restarted_) return restart_agent();
    const bool unloads = how == 1;
    if (unloads) {
      EXPECT_TRUE(node_.apply(sim::unload_driver()));
    } else {
      agent_->source.interrupt();
    }
    EXPECT_FALSE(agent_->scanner.scan_once());
    if (unloads) EXPECT_TRUE(node_.apply(sim::load_driver()));
  }

  void restart_agent() {
    // Only unhealthy GPUs are remembered, and no answers of the driver.
    for (const Gpu& gpu : agent_->inventory.gpus) {
      if (gpu.health.ok()) listed_before_.erase(gpu.uuid);
    }
    for (auto& [uuid, memory_bytes] : listed_before_) memory_bytes = 0;
    start_agent();
  }

  void start_agent() {
    agent_.reset();
    agent_ = std::make_unique<Agent>(node_, dir_.path("faults.json"), log_);
    EXPECT_TRUE(agent_->scanner.begin({}));
    check_names();
  }

  const Gpu* listed(const GpuUuid& uuid) const {
    const auto found = std::ranges::find(agent_->inventory.gpus, uuid, &Gpu::uuid);
    return found == agent_->inventory.gpus.end() ? nullptr : &*found;
  }

  void check_names() const {
    for (const Gpu& gpu : agent_->inventory.gpus) {
      for (const MigDevice& mig : gpu.mig) EXPECT_NE(mig.profile.memory_gb, 0U) << facts(gpu);
    }
  }

  // A session does not see GPUs again that were reset since it began. It knows the truth of the
  // others.
  void check_what_is_in_the_session() const {
    check_names();
    const sim::World world = *node_.world();
    for (const sim::Gpu& gpu : world.gpus) {
      const auto before = generations_.find(gpu.uuid);
      const Gpu* shown = listed(gpu.uuid);
      if (shown == nullptr || before == generations_.end() || before->second != gpu.generation ||
          gpu.state != sim::Gpu::State::kPresent || has_faults(world, gpu)) {
        continue;
      }
      EXPECT_EQ(facts(*shown), facts(gpu));
    }
  }

  void check_everything() {
    check_names();
    const sim::World world = *node_.world();
    generations_.clear();
    for (const sim::Gpu& gpu : world.gpus) {
      check_gpu(world, gpu);
      if (answers(world, gpu)) generations_[gpu.uuid] = gpu.generation;
    }
    std::map<GpuUuid, std::uint64_t> listed;
    for (const Gpu& shown : agent_->inventory.gpus) {
      EXPECT_TRUE(listed.emplace(shown.uuid, shown.memory_bytes).second)
          << "listed twice: " << facts(shown);
      check_no_ghost(world, shown);
    }
    check_xid(world);
    check_faults(world);
    listed_before_ = std::move(listed);
  }

  void check_gpu(const sim::World& world, const sim::Gpu& gpu) const {
    const Gpu* shown = listed(gpu.uuid);
    if (answers(world, gpu)) {
      EXPECT_EQ(shown == nullptr ? "not listed" : facts(*shown), facts(gpu));
      return;
    }
    const auto before = listed_before_.find(gpu.uuid);
    EXPECT_TRUE(shown != nullptr || before == listed_before_.end())
        << "no longer listed: " << facts(gpu);
    if (shown != nullptr && before != listed_before_.end() && before->second > 0) {
      EXPECT_GT(shown->memory_bytes, 0U) << "its size was known: " << facts(gpu);
    }
    if (shown != nullptr && gpu.state != sim::Gpu::State::kPresent) {
      EXPECT_FALSE(shown->health.ok()) << facts(gpu);
    }
  }

  // A missing card may stay listed only while the one in its slot has not reported its uuid.
  void check_no_ghost(const sim::World& world, const Gpu& shown) const {
    if (sim::find_gpu(world, shown.uuid) != nullptr) return;
    const auto in_slot =
        std::ranges::find_if(world.gpus, [&](const sim::Gpu& gpu) { return shown.pci == gpu.pci; });
    EXPECT_TRUE(in_slot != world.gpus.end() && !answers(world, *in_slot))
        << "a ghost: " << facts(shown);
  }

  void check_xid(const sim::World& world) {
    const std::optional<GpuUuid>& uuid = life_.xid_on();
    const sim::Gpu* gpu = uuid ? sim::find_gpu(world, *uuid) : nullptr;
    std::vector<std::string> blamed;
    for (const std::string& line : lines_) {
      const std::string key = fmt::format("xid={} gpu=", kLifeXid);
      if (const std::size_t at = line.find(key); at != std::string::npos) {
        blamed.push_back(line.substr(at + key.size(), uuid ? uuid->text.size() : 40));
      }
    }
    if (gpu == nullptr || (restarted_ && blamed.empty())) {
      EXPECT_EQ(blamed, std::vector<std::string>{});
    } else if (answers(world, *gpu)) {
      EXPECT_EQ(blamed, std::vector{uuid->text});
    }
    if (gpu != nullptr && xid_generation_ && blamed == std::vector{uuid->text}) {
      faulty_[*uuid] = *xid_generation_;
    }
  }

  // Only a reset ends that XID: without one the GPU is unhealthy, whatever its counters did when we
  // closed the driver.
  void check_faults(const sim::World& world) {
    for (auto fault = faulty_.begin(); fault != faulty_.end();) {
      const sim::Gpu* gpu = sim::find_gpu(world, fault->first);
      const Gpu* shown = listed(fault->first);
      const bool is_open = gpu != nullptr && gpu->generation == fault->second;
      if (is_open && shown != nullptr) EXPECT_FALSE(shown->health.ok()) << facts(*gpu);
      fault = is_open ? std::next(fault) : faulty_.erase(fault);
    }
  }

  NodeLife life_;
  TempDir dir_;
  sim::SimulatedNode node_;
  std::vector<std::string> lines_;
  Log log_{[this](std::string_view line) { lines_.emplace_back(line); }};
  std::unique_ptr<Agent> agent_;
  std::map<GpuUuid, std::uint64_t> listed_before_;  // with their memory sizes
  std::map<GpuUuid, unsigned> generations_;         // of those that answered then
  std::optional<unsigned> xid_generation_;          // of the GPU when it had its last XID
  std::map<GpuUuid, unsigned> faulty_;              // since which generation
  bool restarted_ = false;
};

// TRANCHE_LIVES=200 runs more of them than a build has time for.
std::uint64_t lives() {
  const char* wanted = std::getenv("TRANCHE_LIVES");  // NOLINT(concurrency-mt-unsafe)
  return parse_number<std::uint64_t>(wanted == nullptr ? "" : wanted).value_or(4);
}

TEST(InventoryLife, ListsTheGpusThatAreThereAsTheyAre) {
  constexpr int kSteps = 15;
  for (std::uint64_t seed = 1; seed <= lives(); ++seed) {
    InventoryLife life(seed);
    for (int step = 0; step < kSteps; ++step) {
      life.step();
      ASSERT_FALSE(testing::Test::HasFailure())
          << "seed " << seed << ", step " << step << ", after:\n"
          << life.history();
    }
  }
}

}  // namespace
}  // namespace tranche::node::nvml
