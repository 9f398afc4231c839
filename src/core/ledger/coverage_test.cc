// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kGiB = 1ULL << 30;

ResourcePolicy row(const char* name, ShareForm form) {
  ResourcePolicy policy{.resource = ResourceName(name)};
  policy.terms.form = form;
  return policy;
}

ResourcePolicy whole() { return row("nvidia.com/gpu", ShareForm::kWhole); }

ResourcePolicy memory() {
  ResourcePolicy policy = row("aliyun.com/gpu-mem", ShareForm::kMemory);
  policy.unit = kGiB;
  return policy;
}

ResourcePolicy replicas(unsigned count) {
  ResourcePolicy policy = row("deepomatic.com/shared-gpu", ShareForm::kReplicas);
  policy.replicas = count;
  return policy;
}

// GPUs of 80 GiB, offered by each of the rows.
Catalog catalog(const std::vector<ResourcePolicy>& rows, unsigned gpus = 2) {
  Inventory node = a_node(gpus);
  for (Gpu& gpu : node.gpus) gpu.memory_bytes = 80 * kGiB;
  return offer(node, {.policies = rows});
}

const Offer& named(const Catalog& all, const char* name) {
  return *std::ranges::find(all.offers, ResourceName(name), &Offer::name);
}

Holding held(const Catalog& all, const char* name, unsigned gpu,
             const std::vector<unsigned>& numbers) {
  const OfferedDevice& device = named(all, name).devices[gpu];
  Holding holding{.resource = name, .holder = {"default", "pod-a", "", "main"}};
  for (const unsigned number : numbers) {
    holding.shares.push_back(
        share_id(device.uuid, device.tag, device.replicas ? std::optional(number) : std::nullopt));
  }
  return holding;
}

std::vector<unsigned> free_of(const Catalog& all, const Ledger& ledger, const char* name) {
  std::vector<unsigned> free;
  for (const DeviceRoom& device : Coverage(all, ledger).room(named(all, name))) {
    free.push_back(device.free);
  }
  return free;
}

std::string admits(const Catalog& all, const Ledger& ledger, const Holding& asked) {
  const Status status =
      Coverage(all, ledger)
          .admits(named(all, asked.resource.c_str()), {asked.shares.begin(), asked.shares.end()});
  return status ? "" : status.error().message;
}

using Free = std::vector<unsigned>;
constexpr const char* kWhole = "nvidia.com/gpu";
constexpr const char* kMemory = "aliyun.com/gpu-mem";
constexpr const char* kReplicas = "deepomatic.com/shared-gpu";

TEST(Coverage, LeavesEverythingWhereNothingIsHeld) {
  const Catalog all = catalog({whole(), memory(), replicas(10)});
  EXPECT_EQ(free_of(all, {}, kWhole), (Free{1, 1}));
  EXPECT_EQ(free_of(all, {}, kMemory), (Free{80, 80}));
  EXPECT_EQ(free_of(all, {}, kReplicas), (Free{10, 10}));
}

TEST(Coverage, AWholeGpuCoversEverything) {
  const Catalog all = catalog({whole(), memory(), replicas(10)});
  const Ledger ledger{{held(all, kWhole, 0, {0})}};
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 1}));
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{0, 80}));
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{0, 10}));
}

TEST(Coverage, UnitsOfMemoryCoverTheirBytes) {
  const Catalog all = catalog({whole(), memory(), replicas(10)});
  const Ledger ledger{{held(all, kMemory, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8})}};
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 1}));
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{71, 80}));
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{8, 10}));  // of 8 GiB each
}

TEST(Coverage, AReplicaCoversItsPartOfTheMemoryWhereMemoryIsCounted) {
  const Catalog all = catalog({memory(), replicas(10)});
  const Ledger ledger{{held(all, kReplicas, 0, {3}), held(all, kReplicas, 0, {7})}};
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{8, 10}));
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{64, 80}));
}

TEST(Coverage, AReplicaCoversTheMemoryThatItDeclares) {
  ResourcePolicy large = replicas(10);
  large.replica_memory = 20 * kGiB;
  const Catalog all = catalog({memory(), large});
  EXPECT_EQ(free_of(all, {}, kReplicas), (Free{4, 4}));  // ten are offered, four fit
  const Ledger ledger{{held(all, kReplicas, 0, {0})}};
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{3, 4}));
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{60, 80}));
}

TEST(Coverage, AReplicaOnlyKeepsTheGpuFromBeingGivenWholeWhereMemoryIsNotCounted) {
  const Catalog all = catalog({whole(), replicas(10)});
  const Ledger ledger{{held(all, kReplicas, 0, {3})}};
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 1}));
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{9, 10}));
}

TEST(Coverage, AShareThatWeDoNotOfferCoversTheWholeGpu) {
  const Catalog all = catalog({memory()});
  const Ledger ledger{{{"nvidia.com/gpu", {"default", "old", "", "main"}, {"GPU-0"}},
                       {kMemory, {"default", "older", "", "main"}, {"GPU-1::4"}}}};
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{0, 0}));
}

TEST(Coverage, AReplicaOfBeforeKeepsAGpuFromBeingGivenWhole) {
  const Catalog all = catalog({whole()});
  const Ledger ledger{{{kWhole, {"default", "old", "", "main"}, {"GPU-0::3"}}}};
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 1}));
  EXPECT_THAT(admits(all, ledger, held(all, kWhole, 0, {0})),
              AllOf(HasSubstr("a part of it is held as nvidia.com/gpu"), HasSubstr("default/old")));
}

TEST(Coverage, AReplicaOfBeforeLeavesReplicasWhereMemoryIsNotCounted) {
  const Catalog all = catalog({replicas(10)});
  const Ledger ledger{{{kWhole, {"default", "old", "", "main"}, {"GPU-0::3"}},
                       {kReplicas, {"default", "older", "", "main"}, {"GPU-1::12"}}}};
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{10, 10}));
  EXPECT_EQ(admits(all, ledger, held(all, kReplicas, 0, {3})), "");
}

TEST(Coverage, AGpuThatWasGivenWholeBeforeHasNoReplicas) {
  const Catalog all = catalog({replicas(10)});
  const Ledger ledger{{{kWhole, {"default", "old", "", "main"}, {"GPU-0"}}}};
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{0, 10}));
}

TEST(Coverage, IdsOfOtherSharingPluginsAreLeftovers) {
  const Holder pod{"default", "old", "", "main"};
  const Catalog all = catalog({whole(), memory()}, 4);
  const Ledger ledger{{{"aliyun.com/other", pod, {"GPU-0-_-3"}},
                       {"deepomatic.com/shared-gpu", pod, {"nvidia1-_-1"}},
                       {"nvidia.com/gpu", pod, {"nvidia2/vgpu0"}}}};
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 0, 0, 1}));
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{0, 0, 0, 80}));
  EXPECT_THAT(admits(all, ledger, held(all, kWhole, 0, {0})), HasSubstr("aliyun.com/other"));
}

TEST(Coverage, AnIdOfAnotherSharingPluginIsAReplicaWhereMemoryIsNotCounted) {
  const Catalog all = catalog({replicas(10)});
  const Ledger ledger{{{"other.com/gpu", {"default", "old", "", "main"}, {"GPU-0-_-3"}}}};
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{10, 10}));
}

TEST(Coverage, WhateverAnotherPluginPutsBehindAUuidIsALeftover) {
  const Catalog all = catalog({whole()}, 4);
  const Holder pod{"default", "old", "", "main"};
  const Ledger ledger{{{"a.com/gpu", pod, {"GPU-0__3"}},
                       {"b.com/gpu", pod, {"GPU-1-0"}},
                       {"c.com/gpu", pod, {"GPU-2::replica-1"}},
                       {"d.com/gpu", pod, {"GPU-30"}}}};
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 0, 0, 1})) << "GPU-30 is another node's";
}

// As if the driver did not report the memory size: allocations are kept.
TEST(Coverage, ReplicasThatSayNothingOfMemoryAreNotGivenBesidePromisedMemory) {
  const Catalog all = catalog({replicas(4)});
  Ledger ledger{{{"old.com/mem", {"default", "old", "", "main"}, {"GPU-0::abcd-1"}}}};
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{4, 4}));
  ledger.sizes["old.com/mem"]["GPU-0::abcd-1"] = 10 * kGiB;
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{0, 4}));
  EXPECT_THAT(admits(all, ledger, held(all, kReplicas, 0, {1})),
              HasSubstr("10240 MiB, is held as old.com/mem"));
}

// Two GPUs, the first one cut with MIG into two slices.
Inventory cut_node() {
  Inventory node = a_node(2);
  for (Gpu& gpu : node.gpus) gpu.memory_bytes = 80 * kGiB;
  node.gpus[0].mig_enabled = true;
  for (const unsigned index : {0U, 1U}) {
    node.gpus[0].mig.push_back({.uuid = MigUuid("MIG-" + std::to_string(index)),
                                .index = index,
                                .profile = {3, 3, 40, ""},
                                .memory_bytes = 40 * kGiB});
  }
  return node;
}

constexpr const char* kSlice = "nvidia.com/mig-3g.40gb";
const Holder kOld{"default", "old", "", "main"};

TEST(Coverage, AGpuThatIsHeldWholeCoversItsMigDevices) {
  const Catalog all = offer(cut_node(), {.mig = MigStrategy::kMixed});
  const Ledger ledger{{{kWhole, kOld, {"GPU-0"}}}};
  EXPECT_EQ(free_of(all, ledger, kSlice), (Free{0, 0}));
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{1}));
  EXPECT_THAT(admits(all, ledger, {kSlice, {}, {"MIG-1"}}),
              AllOf(HasSubstr("the GPU that it is a part of, GPU-0, is held as nvidia.com/gpu"),
                    HasSubstr("default/old")));
}

TEST(Coverage, AMigDeviceThatIsHeldCoversItsGpu) {
  const Catalog all = offer(cut_node(), {.mig = MigStrategy::kNone});
  const Ledger ledger{{{kSlice, kOld, {"MIG-1"}}}};
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 1}));
  EXPECT_THAT(admits(all, ledger, held(all, kWhole, 0, {0})),
              AllOf(HasSubstr("a MIG device that is a part of it, MIG-1, is held as " +
                              std::string(kSlice)),
                    HasSubstr("default/old")));
}

TEST(Coverage, AReplicaOfAGpuCoversItsMigDevices) {
  const Catalog all = offer(cut_node(), {.mig = MigStrategy::kSingle});
  const Ledger ledger{{{kWhole, kOld, {"GPU-0::3"}}}};
  const Offer& slices = named(all, kWhole);
  ASSERT_TRUE(slices.devices.front().is_mig());
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 0}));
}

// Without the driver's library, device nodes do not show MIG.
TEST(Coverage, AMigDeviceOfAnUnknownGpuCoversEveryGpu) {
  Inventory nodes = a_node(2);
  nodes.driver = DriverKind::kDeviceNodes;
  const Catalog all = offer(nodes, {});
  const Ledger ledger{{{kSlice, kOld, {"MIG-1"}}}};
  EXPECT_EQ(free_of(all, ledger, kWhole), (Free{0, 0}));
  EXPECT_THAT(admits(all, ledger, held(all, kWhole, 0, {0})), HasSubstr("default/old"));
}

TEST(Coverage, MigDevicesOfOneGpuDoNotCoverEachOther) {
  const Catalog all = offer(cut_node(), {.mig = MigStrategy::kMixed});
  const Ledger ledger{{{kSlice, kOld, {"MIG-0"}}}};
  EXPECT_EQ(Coverage(all, ledger).room(named(all, kSlice)), (OfferRoom{{{0}, 0}, {{}, 1}}));
  EXPECT_EQ(admits(all, ledger, {kSlice, {}, {"MIG-1"}}), "");
}

// Replicas were halves of the GPU, and are eighths now.
TEST(Coverage, AReplicaKeepsTheSizeThatItWasGrantedWith) {
  const Catalog all = catalog({memory(), replicas(8)});
  Ledger ledger{{held(all, kReplicas, 0, {0}), held(all, kReplicas, 0, {1})}};
  for (const Holding& holding : ledger.holdings) {
    ledger.sizes[kReplicas][holding.shares.front()] = 40 * kGiB;
  }
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{0, 8}));
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{0, 80}));
  EXPECT_THAT(admits(all, ledger, held(all, kReplicas, 0, {2})),
              HasSubstr("of its 81920 MiB, 81920 MiB are taken and 10240 MiB are requested"));
  ledger.holdings.pop_back();
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{4, 8}));
  EXPECT_EQ(admits(all, ledger, held(all, kReplicas, 0, {4, 5, 6, 7})), "");
  EXPECT_THAT(admits(all, ledger, held(all, kReplicas, 0, {3, 4, 5, 6, 7})),
              HasSubstr("40960 MiB are taken and 51200 MiB are requested"));
}

TEST(Coverage, ALeftoverOfKnownSizeCoversNoMore) {
  const Catalog all = catalog({memory()});
  Ledger ledger{{{kReplicas, kOld, {"GPU-0::abcd-1"}}}};
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{0, 80}));
  ledger.sizes[kReplicas]["GPU-0::abcd-1"] = 10 * kGiB;
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{70, 80}));
}

// Granted while replicas had no memory size: how much it uses is not known.
TEST(Coverage, AReplicaOfUnknownSizeCoversTheGpuWhereMemoryIsCountedNow) {
  const Catalog all = catalog({memory(), replicas(8)});
  Ledger ledger{{held(all, kReplicas, 0, {0})}};
  ledger.sizes[kReplicas][ledger.holdings[0].shares[0]] = 0;
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{0, 80}));
  EXPECT_EQ(free_of(all, ledger, kReplicas), (Free{0, 8}));
}

TEST(Coverage, HasNoPlaceForOtherPluginsDevices) {
  const Catalog all = catalog({memory()});
  const Ledger ledger{{{"example.com/fpga", {"default", "a", "", "main"}, {"", "fpga::x"}}}};
  EXPECT_EQ(free_of(all, ledger, kMemory), (Free{80, 80}));
}

TEST(Coverage, TellsWhichSharesAreHeld) {
  const Catalog all = catalog({memory(), whole()});
  const Ledger ledger{{held(all, kMemory, 1, {9, 4}), held(all, kWhole, 0, {0})}};
  EXPECT_EQ(Coverage(all, ledger).room(named(all, kMemory)), (OfferRoom{{{}, 0}, {{4, 9}, 78}}));
  EXPECT_EQ(Coverage(all, ledger).room(named(all, kWhole)), (OfferRoom{{{0}, 0}, {{}, 0}}));
}

// The kubelet allocates again what we still count as held: it is always the first to know that a
// pod has ended.
TEST(Coverage, CountsWhatTheKubeletTakesForFreeAsFree) {
  const Catalog all = catalog({memory()});
  const Ledger ledger{{held(all, kMemory, 0, {0, 1, 2})}};
  const std::string id = held(all, kMemory, 0, {1}).shares.front();
  EXPECT_EQ(Coverage(all, ledger).room(named(all, kMemory), {id}),
            (OfferRoom{{{0, 2}, 78}, {{}, 80}}));
}

TEST(Admission, LeavesANameByItselfToTheKubelet) {
  const Catalog all = catalog({memory()});
  std::vector<unsigned> most(80);
  std::iota(most.begin(), most.end(), 0U);
  most.erase(most.begin());
  const Ledger stale{{held(all, kMemory, 0, {0, 1})}};
  EXPECT_EQ(admits(all, stale, held(all, kMemory, 0, most)), "");
}

TEST(Shown, IsTheLargestFreeBlockWhereTheTermsSaySo) {
  ResourcePolicy block = memory();
  block.terms.shown = ShownSize::kLargestBlock;
  Catalog all = catalog({block}, 3);
  const Ledger ledger{{held(all, kMemory, 0, {0}), held(all, kMemory, 2, {0, 1})}};
  const Offer& units = named(all, kMemory);
  EXPECT_EQ(shown(units, Coverage(all, ledger).room(units)),
            (OfferRoom{{{0}, 0}, {{}, 80}, {{0, 1}, 0}}));
  all.offers[0].devices[1].health.troubles = {"lost"};
  EXPECT_EQ(shown(all.offers[0], Coverage(all, ledger).room(all.offers[0])),
            (OfferRoom{{{0}, 79}, {{}, 0}, {{0, 1}, 0}}));
}

TEST(Admission, RefusesAWholeGpuThatHasAPartHeldAndSaysByWhom) {
  const Catalog all = catalog({whole(), memory()});
  const Ledger ledger{{held(all, kMemory, 0, {0})}};
  EXPECT_THAT(admits(all, ledger, held(all, kWhole, 0, {0})),
              AllOf(HasSubstr("GPU 0 (GPU-0) cannot be allocated as nvidia.com/gpu"),
                    HasSubstr("aliyun.com/gpu-mem"), HasSubstr("default/pod-a, container main")));
  EXPECT_EQ(admits(all, ledger, held(all, kWhole, 1, {0})), "");
}

TEST(Admission, RefusesMemoryOfAGpuThatIsHeldWhole) {
  const Catalog all = catalog({whole(), memory()});
  const Ledger ledger{{held(all, kWhole, 0, {0})}};
  EXPECT_THAT(admits(all, ledger, held(all, kMemory, 0, {5})), HasSubstr("all of it is held"));
}

TEST(Admission, RefusesWhatWouldExceedTheMemory) {
  const Catalog all = catalog({memory(), replicas(2)});
  const Ledger ledger{{held(all, kReplicas, 0, {0})}};  // 40 GiB
  std::vector<unsigned> forty(40);
  std::iota(forty.begin(), forty.end(), 0U);
  EXPECT_EQ(admits(all, ledger, held(all, kMemory, 0, forty)), "");
  forty.push_back(40);
  EXPECT_THAT(admits(all, ledger, held(all, kMemory, 0, forty)),
              HasSubstr("of its 81920 MiB, 40960 MiB are taken and 41984 MiB are requested"));
}

// The kubelet gives a plain init container's devices to the next container of
// the same pod.
TEST(Admission, GivesTheSameSharesAgain) {
  const Catalog all = catalog({whole(), memory()});
  const Ledger units{{held(all, kMemory, 0, {1, 2, 3})}};
  EXPECT_EQ(admits(all, units, held(all, kMemory, 0, {1, 2, 3})), "");
  const Ledger gpu{{held(all, kWhole, 0, {0})}};
  EXPECT_EQ(admits(all, gpu, held(all, kWhole, 0, {0})), "");
}

}  // namespace
}  // namespace tranche::core
