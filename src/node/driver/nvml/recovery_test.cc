// SPDX-License-Identifier: Apache-2.0
//
// The agent's scanner on a simulated node whose GPU was reset, or was not.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "node/driver/nvml/nvml_source.h"
#include "node/driver/scanner.h"
#include "os/latest.h"
#include "os/testing/temp_dir.h"
#include "testbed/node/simulated_node.h"
#include "testbed/worlds/builtin.h"

namespace tranche::node::nvml {

namespace sim = testbed::sim;
namespace {

using std::chrono::milliseconds;

class Recovery : public testing::Test {
 protected:
  struct Agent {
    Agent(const sim::SimulatedNode& node, const std::string& memory_file, Log& log)
        : source({.container_root = node.root(), .call_patience = std::chrono::seconds(30)},
                 KernelFiles(node.root()), log),
          scanner(source, KernelFiles(node.root()), memory_file, log, [this](const Inventory& now) {
            shown.publish(now);
            scans.publish(*scans.get().value + 1);
          }) {
      HealthOptions options;
      options.interval = milliseconds(5);
      EXPECT_TRUE(scanner.begin(options));
      thread = std::jthread([this](const std::stop_token& stop) { scanner.run(stop); });
    }

    NvmlSource source;
    Latest<Inventory> shown;
    Latest<unsigned> scans;  // `shown` has only those that changed something
    Scanner scanner;
    std::jthread thread;
  };

  void start(bool persistence, const char* driver = "580.105.08") {
    std::filesystem::remove_all(dir_.path("root"));
    std::filesystem::remove(dir_.path("faults.json"));
    sim::World world = *sim::builtin_world("hgx-h200");
    world.driver.version = world.driver.module_version = driver;
    for (sim::Gpu& gpu : world.gpus) gpu.persistence = persistence;
    node_.emplace(*sim::SimulatedNode::create(dir_.path("root"), world, {.plain_files = true}));
    start_agent();
  }
  void start_agent() {
    agent_.reset();
    agent_ = std::make_unique<Agent>(*node_, dir_.path("faults.json"), log_);
  }
  void apply(const sim::Change& change) {
    const Status applied = node_->apply(change);
    ASSERT_TRUE(applied) << applied.error().message;
  }
  template <typename Condition>
  bool comes_true(Condition condition) {
    std::uint64_t seen = 0;
    while (true) {
      const auto latest = agent_->shown.wait_newer(seen, std::chrono::seconds(30));
      if (condition(latest.value->gpus.at(0).health)) return true;
      if (latest.version == seen) return false;
      seen = latest.version;
    }
  }
  bool gets_ill() {
    return comes_true([](const Health& health) { return !health.ok(); });
  }
  bool gets_well() {
    return comes_true([](const Health& health) { return health.ok(); });
  }
  // At each of so many scans of the agent.
  bool is_ill_after(unsigned scans) {
    auto latest = agent_->scans.get();
    const unsigned end = *latest.value + scans;
    while (*latest.value < end) {
      const std::uint64_t seen = latest.version;
      latest = agent_->scans.wait_newer(seen, std::chrono::seconds(30));
      if (latest.version == seen || agent_->shown.get().value->gpus.at(0).health.ok()) return false;
    }
    return true;
  }
  // Runs `release`, the action, and `resume`.
  void while_released(const sim::Change& change) {
    agent_->scanner.release({node_->world()->gpus[0].uuid});
    ASSERT_TRUE(comes_true([](const Health& health) {
      return health.reason().find("on request") != std::string::npos;
    }));
    if (change) apply(change);
    agent_->scanner.resume();
    ASSERT_TRUE(comes_true([](const Health& health) {
      return health.reason().find("on request") == std::string::npos;
    }));
  }
  // The firmware does not answer; only a reset ends that.
  void fail_firmware() {
    apply(sim::raise_xid(0, {.number = 119}));
    ASSERT_TRUE(gets_ill());
  }

  TempDir dir_;
  Log log_{[](std::string_view) {}};
  std::optional<sim::SimulatedNode> node_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(Recovery, IsNotTakenFromCountersThatRestartWithOurSessions) {
  start(false);
  fail_firmware();
  for (int i = 0; i < 3; ++i) {
    while_released(nullptr);
    EXPECT_TRUE(is_ill_after(4));
    start_agent();
    EXPECT_TRUE(is_ill_after(4));
  }
}

TEST_F(Recovery, IsSeenInTheCountersWherePersistenceModeKeepsThem) {
  start(true);
  fail_firmware();
  while_released(nullptr);
  EXPECT_TRUE(is_ill_after(4));
  while_released(sim::reset(0));
  EXPECT_TRUE(gets_well());
}

// The energy counter, which most scans do not read, fell before the fault.
TEST_F(Recovery, IsNotTakenFromCountersThatFellBeforeTheFault) {
  for (const bool persistence : {false, true}) {
    start(persistence);
    while_released(persistence ? sim::reset(0) : nullptr);
    ASSERT_TRUE(gets_well());
    fail_firmware();
    EXPECT_TRUE(is_ill_after(4)) << persistence;
    agent_.reset();
    node_.reset();
  }
}

TEST_F(Recovery, IsSeenOverARestartOfTheAgent) {
  start(true);
  fail_firmware();
  agent_.reset();
  apply(sim::reset(0));
  start_agent();
  EXPECT_TRUE(gets_well());
}

TEST_F(Recovery, IsSeenWhereTheDriverWasBoundAgain) {
  start(false);
  fail_firmware();
  while_released(sim::reset(0));
  EXPECT_TRUE(is_ill_after(4)) << "nothing shows that one";
  while_released(sim::rebind(0));
  EXPECT_TRUE(gets_well());
}

TEST_F(Recovery, IsSeenWhereTheModuleWasReloadedWhileReleased) {
  start(false);
  fail_firmware();
  while_released(sim::all_of({sim::unload_driver(), sim::load_driver()}));
  EXPECT_TRUE(gets_well());
}

TEST_F(Recovery, IsSeenWhereTheDriverAskedForTheReset) {
  start(false);
  fail_firmware();
  apply(sim::require_reset(0));
  ASSERT_TRUE(comes_true([](const Health& health) {
    return health.reason().find("requires a reset") != std::string::npos;
  }));
  while_released(nullptr);
  EXPECT_TRUE(is_ill_after(4));
  while_released(sim::reset(0));
  EXPECT_TRUE(gets_well());
}

// XID 156: a unit is to be retired, at the next reset.
TEST_F(Recovery, OfARetiredUnitIsSeenWhenItIsNoLongerPending) {
  start(false);
  apply(sim::all_of({sim::edit_gpu(0, [](sim::Gpu& gpu) { gpu.vitals.tpc_repair_pending = true; }),
                     sim::raise_xid(0, {.number = 156})}));
  ASSERT_TRUE(gets_ill());
  while_released(nullptr);
  EXPECT_TRUE(is_ill_after(4));
  while_released(sim::reset(0));
  EXPECT_TRUE(gets_well());
}

TEST_F(Recovery, OfANvLinkDoesNotWaitForLinksThatNeverWereUp) {
  start(false);
  apply(sim::set_link(0, 3, false));
  start_agent();
  apply(sim::all_of({sim::set_link(0, 5, false), sim::raise_xid(0, {.number = 74})}));
  ASSERT_TRUE(gets_ill());
  while_released(nullptr);
  EXPECT_TRUE(is_ill_after(4));
  while_released(sim::all_of({sim::reset(0), sim::set_link(0, 5, true)}));
  EXPECT_TRUE(gets_well()) << "link 3 was never seen up";
}

TEST_F(Recovery, OfALostCardIsSeenWhenItAnswers) {
  start(false);
  apply(sim::make_unreachable(0));
  ASSERT_TRUE(gets_ill());
  EXPECT_TRUE(is_ill_after(10));
  apply(sim::come_back(0));
  EXPECT_TRUE(gets_well());
}

}  // namespace
}  // namespace tranche::node::nvml
