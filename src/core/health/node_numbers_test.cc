// SPDX-License-Identifier: Apache-2.0
//
// Numbers of GPUs over the readings of a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"
#include "core/health/node_state.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Surroundings kAround{.boot_id = "b1", .now = 1'000'000};

// The GPUs of these slots, as a new session counts them.
DriverReading counted(const std::vector<unsigned>& slots, std::uint64_t session) {
  std::vector<GpuReading> gpus;
  for (const unsigned slot : slots) {
    Gpu gpu = a_gpu(slot);
    gpu.index = static_cast<unsigned>(gpus.size());
    gpus.push_back({.index = gpu.index, .gpu = gpu});
  }
  return {.kind = DriverKind::kNvml, .session = session, .gpus = std::move(gpus)};
}

const NodeState kThree = with_reading({}, counted({0, 1, 2}, 1), kAround);
const NodeState kFour = with_reading({}, counted({0, 1, 2, 3}, 1), kAround);

std::vector<std::string> numbered(const NodeState& state) {
  std::vector<std::string> gpus;
  for (const Gpu& gpu : present(state).gpus) {
    gpus.push_back(std::to_string(gpu.index) + "=" + gpu.uuid.text + " driver " +
                   (gpu.driver_index ? std::to_string(*gpu.driver_index) : "-"));
  }
  return gpus;
}

TEST(NodeNumbers, KeepsTheNumbersOfGpusThatTheDriverCountsAgain) {
  NodeState state = with_reading(kFour, counted({0, 2, 3}, 2), kAround);
  EXPECT_THAT(numbered(state), ElementsAre("0=GPU-0 driver 0", "1=GPU-1 driver -",
                                           "2=GPU-2 driver 1", "3=GPU-3 driver 2"));
  state = with_reading(state, counted({0, 1, 2, 3}, 3), kAround);
  EXPECT_THAT(numbered(state), ElementsAre("0=GPU-0 driver 0", "1=GPU-1 driver 1",
                                           "2=GPU-2 driver 2", "3=GPU-3 driver 3"));
}

TEST(NodeNumbers, KeepsTheNumbersOfTheOthersWhenAGpuIsTakenOut) {
  Surroundings around = kAround;
  around.has_pci_device = [](const PciAddress& pci) { return pci != *a_gpu(1).pci; };
  EXPECT_THAT(numbered(with_reading(kThree, counted({0, 2}, 2), around)),
              ElementsAre("0=GPU-0 driver 0", "2=GPU-2 driver 1"));
}

TEST(NodeNumbers, BindsNumbersByTheDriverAgainOnceTheyAreForgotten) {
  NodeState state = with_reading(kThree, counted({0, 2}, 2), kAround);
  state = with_forgotten_numbers(std::move(state), {0, 1, 2});
  EXPECT_THAT(state.inventory.numbers, IsEmpty());
  EXPECT_THAT(numbered(with_reading(state, counted({0, 2}, 2), kAround)),
              ElementsAre("0=GPU-0 driver 0", "1=GPU-2 driver 1", "2=GPU-1 driver -"));
}

TEST(NodeNumbers, UsesNumbersForDeviceNodesAndBindsNoneByThem) {
  DriverReading nodes = counted({0, 2}, 2);
  nodes.kind = DriverKind::kDeviceNodes;
  EXPECT_THAT(with_reading({}, nodes, kAround).inventory.numbers, IsEmpty());
  NodeState known;
  known.inventory.numbers = kThree.inventory.numbers;
  EXPECT_THAT(numbered(with_reading(known, nodes, kAround)),
              ElementsAre("0=GPU-0 driver 0", "2=GPU-2 driver 1"));
}

TEST(NodeNumbers, KnowsAFailingGpuByTheDriversIndexOfTheLastReading) {
  NodeState state = with_reading(kThree, counted({0, 2}, 2), kAround);
  // GPU-1 was index 1 once; GPU-2 is now.
  DriverReading failing = counted({0}, 2);
  failing.gpus.push_back({.index = 1, .failure = GpuFailure{FailureKind::kOther, "no answer"}});
  const Inventory inventory = present(with_reading(state, failing, kAround));
  EXPECT_EQ(inventory.gpus.at(1).health.reason(), "the driver no longer lists the GPU");
  EXPECT_EQ(inventory.gpus.at(2).health.reason(), "no answer");
}

}  // namespace
}  // namespace tranche::core
