// SPDX-License-Identifier: Apache-2.0
#include "core/placement/prefer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Ids = std::vector<std::string>;

// Owns the texts that a AllocationRequest points into.
Ids ask(Offer offer, const Topology& topology, SharePlacement placement, Ids available,
        std::size_t size, const Ids& must = {}) {
  std::shuffle(available.begin(), available.end(), std::mt19937(7));  // as the kubelet does
  const AllocationRequest request{
      {available.begin(), available.end()}, {must.begin(), must.end()}, size};
  offer.terms.placement = placement;
  const auto chosen = prefer(offer, empty_room(offer), topology, request);
  return {chosen.begin(), chosen.end()};
}

Offer whole_gpus(const Inventory& node) { return offer(node, {}).offers.at(0); }

Ids gpus(std::initializer_list<int> indexes) {
  Ids ids;
  for (const int index : indexes) ids.push_back("GPU-" + std::to_string(index));
  return ids;
}

// Pairs by NVLink bridge (0,1), (2,3); two sockets of one pair each.
Inventory bridged_pairs() {
  Inventory node = a_node(4);
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = a + 1; b < 4; ++b) {
      const bool pair = a / 2 == b / 2;
      node.topology.set(
          a, b, {pair ? PcieDistance::kSameNode : PcieDistance::kAcrossSystem, pair ? 4U : 0U});
    }
  }
  return node;
}

// All to all through NVSwitches; sockets {0..3} and {4..7}.
Inventory switched() {
  Inventory node = a_node(8);
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = a + 1; b < 8; ++b) {
      node.topology.set(
          a, b, {a / 4 == b / 4 ? PcieDistance::kSameNode : PcieDistance::kAcrossSystem, 18});
    }
  }
  return node;
}

// DGX-1 with V100: the hybrid cube mesh.
Inventory cube_mesh() {
  constexpr unsigned kLinks[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                     {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                     {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                     {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  Inventory node = a_node(8);
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = a + 1; b < 8; ++b) {
      const PcieDistance pcie = a / 2 == b / 2   ? PcieDistance::kOneSwitch
                                : a / 4 == b / 4 ? PcieDistance::kHostBridge
                                                 : PcieDistance::kAcrossSystem;
      node.topology.set(a, b, {pcie, kLinks[a][b]});
    }
  }
  return node;
}

Ids aligned(const Inventory& node, Ids available, std::size_t size, const Ids& must = {}) {
  return ask(whole_gpus(node), node.topology, SharePlacement::kDistributed, std::move(available),
             size, must);
}

TEST(Aligned, TakesABridgedPair) {
  EXPECT_THAT(aligned(bridged_pairs(), gpus({0, 1, 2, 3}), 2), ElementsAre("GPU-0", "GPU-1"));
  EXPECT_THAT(aligned(bridged_pairs(), gpus({1, 2, 3}), 2), ElementsAre("GPU-2", "GPU-3"));
}

TEST(Aligned, TakesASingleGpuFromAPairThatIsBrokenAlready) {
  EXPECT_THAT(aligned(bridged_pairs(), gpus({0, 1, 3}), 1), ElementsAre("GPU-3"));
  EXPECT_THAT(aligned(bridged_pairs(), gpus({1, 2, 3}), 1), ElementsAre("GPU-1"));
}

TEST(Aligned, CompletesThePairOfAGpuThatIsDecidedAlready) {
  EXPECT_THAT(aligned(bridged_pairs(), gpus({0, 1, 2, 3}), 2, {"GPU-3"}),
              ElementsAre("GPU-3", "GPU-2"));
}

TEST(Aligned, StaysOnASocketWhereSwitchesMakeAllLinksAlike) {
  EXPECT_THAT(aligned(switched(), gpus({0, 4, 1, 5, 2, 6, 3, 7}), 4),
              ElementsAre("GPU-0", "GPU-1", "GPU-2", "GPU-3"));
  EXPECT_THAT(aligned(switched(), gpus({3, 4, 5, 6, 7}), 2), ElementsAre("GPU-4", "GPU-5"));
}

TEST(Aligned, LeavesTheFullerSocketAloneForASingleGpu) {
  EXPECT_THAT(aligned(switched(), gpus({0, 1, 2, 4, 5, 6, 7}), 1), ElementsAre("GPU-0"));
  EXPECT_THAT(aligned(switched(), gpus({0, 1, 2, 3, 5, 6, 7}), 1), ElementsAre("GPU-5"));
}

TEST(Aligned, FindsTheDoubleLinksOfACubeMesh) {
  EXPECT_THAT(aligned(cube_mesh(), gpus({0, 1, 2, 3, 4, 5, 6, 7}), 4),
              ElementsAre("GPU-0", "GPU-1", "GPU-2", "GPU-3"));
  EXPECT_THAT(aligned(cube_mesh(), gpus({0, 1, 2, 5, 7}), 2), ElementsAre("GPU-1", "GPU-2"));
}

TEST(Aligned, GoesByNumaNodesWhereTheDriverDoesNotTell) {
  Inventory node = a_node(4);
  for (Gpu& gpu : node.gpus) gpu.numa_node = gpu.index % 2;
  EXPECT_THAT(aligned(node, gpus({0, 1, 2, 3}), 2), ElementsAre("GPU-0", "GPU-2"));
}

TEST(Aligned, DoesNotDependOnTheKubeletsOrder) {
  const Inventory node = switched();
  const Offer offer = whole_gpus(node);
  Ids ids = gpus({0, 1, 2, 3, 4, 5, 6, 7});
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(ids.begin(), ids.end(), random);
    const auto chosen =
        prefer(offer, empty_room(offer), node.topology, {{ids.begin(), ids.end()}, {}, 3});
    EXPECT_THAT(chosen, ElementsAre("GPU-0", "GPU-1", "GPU-2"));
  }
}

TEST(Aligned, WorksOnMoreGpusThanItCanTryAllSetsOf) {
  Inventory node = a_node(40);
  for (std::size_t a = 0; a < 40; ++a) {
    for (std::size_t b = a + 1; b < 40; ++b) {
      node.topology.set(
          a, b, {a / 8 == b / 8 ? PcieDistance::kOneSwitch : PcieDistance::kAcrossSystem, 0});
    }
  }
  Ids ids;
  for (int i = 1; i < 40; ++i) ids.push_back("GPU-" + std::to_string(i));
  EXPECT_THAT(aligned(node, ids, 8), ElementsAre("GPU-8", "GPU-9", "GPU-10", "GPU-11", "GPU-12",
                                                 "GPU-13", "GPU-14", "GPU-15"));
}

TEST(Prefer, AvoidsAGpuThatHasFailedSinceTheKubeletLooked) {
  Inventory node = a_node(3);
  node.gpus[0].health.troubles = {"GPU is lost"};
  EXPECT_THAT(aligned(node, gpus({0, 1, 2}), 1), ElementsAre("GPU-1"));
  EXPECT_THAT(aligned(node, gpus({0, 1, 2}), 3), UnorderedElementsAre("GPU-0", "GPU-1", "GPU-2"));
}

TEST(Prefer, AnswersWithWhatTheKubeletOfferedWhereItKnowsNoBetter) {
  EXPECT_THAT(aligned(a_node(1), {"GPU-x", "GPU-y"}, 2), UnorderedElementsAre("GPU-x", "GPU-y"));
  EXPECT_THAT(aligned(a_node(1), {"GPU-x", "GPU-0"}, 1), ElementsAre("GPU-0"));
}

TEST(Prefer, GivesAllThereIsWhereMoreIsAskedFor) {
  EXPECT_THAT(aligned(a_node(2), gpus({0, 1}), 5), ElementsAre("GPU-0", "GPU-1"));
  EXPECT_THAT(aligned(a_node(2), {}, 1), IsEmpty());
}

TEST(Prefer, KeepsWhatMustBeIncluded) {
  EXPECT_THAT(aligned(a_node(4), gpus({0, 1, 2, 3}), 2, {"GPU-2", "GPU-3"}),
              ElementsAre("GPU-2", "GPU-3"));
}

Offer replicas(const std::vector<unsigned>& counts) {
  Offer offer{.name = ResourceName("nvidia.com/gpu")};
  for (unsigned i = 0; i < counts.size(); ++i) {
    const std::string uuid = "GPU-" + std::to_string(i);
    offer.devices.push_back(
        {.uuid = uuid, .gpu = GpuUuid(uuid), .gpu_index = i, .replicas = counts[i]});
  }
  return offer;
}

Ids free_replicas(unsigned gpu, unsigned from, unsigned to) {
  Ids ids;
  for (unsigned i = from; i < to; ++i) ids.push_back(share_id("GPU-" + std::to_string(gpu), "", i));
  return ids;
}

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Distributed, TakesTheGpuWithTheFewestReplicasTaken) {
  const Ids free = free_replicas(0, 2, 4) + free_replicas(1, 1, 4);
  EXPECT_THAT(ask(replicas({4, 4}), {}, SharePlacement::kDistributed, free, 1),
              ElementsAre("GPU-1::1"));
}

TEST(Distributed, PutsSharesOfOneContainerOnDifferentGpus) {
  const Ids free = free_replicas(0, 0, 4) + free_replicas(1, 0, 4) + free_replicas(2, 0, 4);
  EXPECT_THAT(ask(replicas({4, 4, 4}), {}, SharePlacement::kDistributed, free, 3),
              ElementsAre("GPU-0::0", "GPU-1::0", "GPU-2::0"));
}

TEST(Distributed, CountsWhatTheContainerHasAlready) {
  const Ids free = free_replicas(0, 0, 4) + free_replicas(1, 0, 4);
  EXPECT_THAT(ask(replicas({4, 4}), {}, SharePlacement::kDistributed, free, 2, {"GPU-0::3"}),
              ElementsAre("GPU-0::3", "GPU-1::0"));
}

TEST(Packed, TakesTheGpuWithTheMostReplicasTaken) {
  const Ids free = free_replicas(0, 2, 4) + free_replicas(1, 1, 4) + free_replicas(2, 0, 4);
  EXPECT_THAT(ask(replicas({4, 4, 4}), {}, SharePlacement::kPacked, free, 3),
              ElementsAre("GPU-0::2", "GPU-0::3", "GPU-1::1"));
}

TEST(Distributed, TakesTheLowestNumberOfAGpuByValueNotByText) {
  const Ids free = free_replicas(0, 9, 12);
  EXPECT_THAT(ask(replicas({100}), {}, SharePlacement::kDistributed, free, 2),
              ElementsAre("GPU-0::9", "GPU-0::10"));
}

TEST(Distributed, SpreadsMigDevicesOverRealGpus) {
  const Inventory node =
      an_inventory({a_cut_gpu(0, {k1g10gb, k1g10gb}), a_cut_gpu(1, {k1g10gb, k1g10gb})});
  const Offer slices = offer(node, {.mig = MigStrategy::kMixed}).offers.at(0);
  EXPECT_THAT(ask(slices, node.topology, SharePlacement::kDistributed,
                  {"MIG-0-0", "MIG-0-1", "MIG-1-0", "MIG-1-1"}, 2),
              ElementsAre("MIG-0-0", "MIG-1-0"));
  EXPECT_THAT(ask(slices, node.topology, SharePlacement::kDistributed,
                  {"MIG-0-1", "MIG-1-0", "MIG-1-1"}, 1),
              ElementsAre("MIG-1-0"));
  EXPECT_THAT(
      ask(slices, node.topology, SharePlacement::kPacked, {"MIG-0-1", "MIG-1-0", "MIG-1-1"}, 1),
      ElementsAre("MIG-0-1"));
}

TEST(Distributed, HandlesAllSharesOfABigNode) {
  Ids free;
  for (unsigned gpu = 0; gpu < 8; ++gpu) free = std::move(free) + free_replicas(gpu, 0, 7000);
  const Ids chosen =
      ask(replicas(std::vector<unsigned>(8, 7000)), {}, SharePlacement::kDistributed, free, 56000);
  EXPECT_EQ(chosen.size(), 56000U);
}

}  // namespace
}  // namespace tranche::core
