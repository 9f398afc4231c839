// SPDX-License-Identifier: Apache-2.0
#include "core/health/pci_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "core/gpu/testing/literals.h"
#include "core/health/testing/readings.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> unhealthy(const NodeState& state) {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : present(state).gpus) {
    if (!gpu.health.ok()) uuids.push_back(gpu.uuid.text);
  }
  return uuids;
}

// Another card at the PCI address of GPU `index`.
Gpu another_card(unsigned index) {
  Gpu gpu = a_gpu(index);
  gpu.uuid = GpuUuid("GPU-new");
  return gpu;
}

TEST(NodeState, ForgetsAGpuWhosePciAddressAnotherCardHas) {
  Surroundings around = kAround;
  around.has_pci_device = [](const PciAddress&) { return true; };
  const DriverReading swapped = reading_of({answering(a_gpu(0)), answering(another_card(1))}, 2);
  NodeState state =
      with_event(node_of(2), {.kind = DriverEvent::Kind::kXid, .gpu = GpuUuid("GPU-1"), .xid = 79},
                 {}, around);
  state = with_driver_trouble(std::move(state), "going", false);
  state = with_reading(std::move(state), swapped, around);
  ASSERT_THAT(present(state).gpus, SizeIs(2));
  EXPECT_EQ(present(state).gpus[1].uuid, GpuUuid("GPU-new"));
  EXPECT_THAT(unhealthy(state), IsEmpty()) << "the faults of the old card are not the new one's";
}

TEST(NodeState, ForgetsAReplacedGpuThatWasLostFirst) {
  NodeState state = with_reading(
      node_of(2), reading_of({answering(a_gpu(0)), failing(1, FailureKind::kLost, "lost")}),
      kAround);
  state = with_reading(std::move(state),
                       reading_of({answering(a_gpu(0)), answering(another_card(1))}, 2), kAround);
  EXPECT_THAT(present(state).gpus, SizeIs(2));
  EXPECT_FALSE(wants_fresh_session(state));
}

TEST(NodeState, KeepsTwoGpusThatExchangedTheirPlaces) {
  Gpu first = a_gpu(0);
  Gpu second = a_gpu(1);
  std::swap(first.pci, second.pci);
  const NodeState state =
      with_reading(node_of(2), reading_of({answering(first), answering(second)}, 2), kAround);
  EXPECT_THAT(present(state).gpus, SizeIs(2));
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(NodeState, BlamesNoGpuThatWasTakenOutForAFailureAtItsOldIndex) {
  Surroundings around = kAround;
  around.has_pci_device = [](const PciAddress& pci) { return pci != *a_gpu(0).pci; };
  // GPU 0 was taken out, and what was GPU 1 has index 0 now.
  const DriverReading renumbered =
      reading_of({failing(0, FailureKind::kOther, "nvmlDeviceGetUUID: Unknown Error")}, 2);
  const NodeState state = with_reading(node_of(2), renumbered, around);
  ASSERT_THAT(present(state).gpus, SizeIs(1));
  EXPECT_EQ(present(state).gpus[0].uuid, GpuUuid("GPU-1"));
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1"));
}

TEST(PciSlots, NameTheGpusThatAnotherCardReplaced) {
  const DriverReading swapped = reading_of({answering(a_gpu(0)), answering(another_card(1))}, 2);
  EXPECT_THAT(replaced_gpus(node_of(2), swapped),
              ElementsAre(Replacement{GpuUuid("GPU-1"), GpuUuid("GPU-new"), *a_gpu(1).pci}));
  EXPECT_THAT(replaced_gpus(node_of(2), all_fine(2)), IsEmpty());
}

TEST(PciSlots, SayWhichOfTwoGpusIsAtAPciAddress) {
  // If two GPUs have the address, the one that the last reading named is there.
  NodeState state = node_of(1);
  Gpu ghost = a_gpu(0);
  ghost.uuid = GpuUuid("GPU-/");  // sorts before
  state.inventory.gpus.insert(state.inventory.gpus.begin(), ghost);
  const Gpu* there = gpu_at(state, *a_gpu(0).pci);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there->uuid, GpuUuid("GPU-0"));
  EXPECT_EQ(gpu_at(state, PciAddress{0, 0x77, 0, 0}), nullptr);
}

TEST(PciSlots, KeepAGpuThatTheLastReadingDidNotName) {
  const NodeState state = with_reading(node_of(2), all_fine(1), kAround);
  const Gpu* lost = gpu_at(state, *a_gpu(1).pci);
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->uuid, GpuUuid("GPU-1"));
}

TEST(PciSlots, TakeAnotherSourcesNameOfACardForNoOtherCard) {
  Gpu by_node = a_gpu(0);
  by_node.uuid = GpuUuid("nvidia0");
  DriverReading nodes = reading_of({answering(by_node)});
  nodes.kind = DriverKind::kDeviceNodes;
  EXPECT_THAT(replaced_gpus(with_reading({}, nodes, kAround), all_fine(1)), IsEmpty());
}

}  // namespace
}  // namespace tranche::core
