// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kGiB = 1ULL << 30;
constexpr const char* kWhole = "nvidia.com/gpu";
constexpr const char* kMemory = "aliyun.com/gpu-mem";
constexpr const char* kReplicas = "deepomatic.com/shared-gpu";

ResourcePolicy row(const char* name, ShareForm form) {
  ResourcePolicy policy{.resource = ResourceName(name)};
  policy.terms.form = form;
  if (form == ShareForm::kMemory) policy.unit = kGiB;
  if (form == ShareForm::kReplicas) policy.replicas = 4;
  return policy;
}

// Two GPUs of 8 GiB under three names.
Catalog shared() {
  Inventory node = a_node(2);
  for (Gpu& gpu : node.gpus) gpu.memory_bytes = 8 * kGiB;
  return offer(node, {.policies = {row(kWhole, ShareForm::kWhole), row(kMemory, ShareForm::kMemory),
                                   row(kReplicas, ShareForm::kReplicas)}});
}

const Offer& named(const Catalog& all, const char* name) {
  return *std::ranges::find(all.offers, ResourceName(name), &Offer::name);
}

std::string id(const Catalog& all, const char* name, unsigned gpu, unsigned number) {
  const OfferedDevice& device = named(all, name).devices[gpu];
  return share_id(device.uuid, device.tag, device.replicas ? std::optional(number) : std::nullopt);
}

Holding held(const char* resource, std::vector<std::string> shares) {
  std::ranges::sort(shares);
  return {.resource = resource,
          .holder = {"default", "train-0", "", "main"},
          .shares = std::move(shares)};
}

// "resource on gpu: shares", for each device of each holding.
std::vector<std::string> places(const Catalog& all, const Ledger& ledger) {
  std::vector<std::string> places;
  for (const PlacedHolding& placed : placed_holdings(all, ledger)) {
    for (const DeviceHolding& device : placed.devices) {
      places.push_back(placed.holding.resource + " on " + device.gpu + ": " +
                       std::to_string(device.shares.size()));
    }
  }
  return places;
}

std::vector<std::string> reasons(const Catalog& all, const Ledger& ledger) {
  std::vector<std::string> sentences;
  for (const WithheldShares& withheld : withheld_shares(all, ledger)) {
    sentences.push_back(to_string(withheld));
  }
  return sentences;
}

TEST(Holdings, NameTheGpuOfEveryFormOfShare) {
  const Catalog all = shared();
  const Ledger ledger{
      {held(kMemory, {id(all, kMemory, 0, 0), id(all, kMemory, 0, 1), id(all, kMemory, 1, 5)}),
       held(kReplicas, {id(all, kReplicas, 1, 2)}), held(kWhole, {id(all, kWhole, 0, 0)})}};
  EXPECT_THAT(places(all, ledger),
              ElementsAre("aliyun.com/gpu-mem on GPU-0: 2", "aliyun.com/gpu-mem on GPU-1: 1",
                          "deepomatic.com/shared-gpu on GPU-1: 1", "nvidia.com/gpu on GPU-0: 1"));
}

TEST(Holdings, NameTheGpuOfAMigDevice) {
  const Catalog all = offer(an_inventory({a_gpu(0), a_cut_gpu(1, {k1g10gb, k3g40gb})}),
                            {.mig = MigStrategy::kMixed});
  const Ledger ledger{{held("nvidia.com/mig-3g.40gb", {"MIG-1-1"})}};
  const auto placed = placed_holdings(all, ledger);
  ASSERT_EQ(placed.size(), 1U);
  EXPECT_THAT(placed[0].devices, ElementsAre(DeviceHolding{"MIG-1-1", "GPU-1", {"MIG-1-1"}, 0}));
}

TEST(Holdings, NameTheGpuOfAnotherPluginsIds) {
  const Catalog all = shared();
  const Ledger ledger{{held("google.com/gpu", {"nvidia1/vgpu0"}),
                       held("other.com/gpu", {"GPU-0-_-3"}), held("other.com/part", {"GPU-1__2"})}};
  EXPECT_THAT(places(all, ledger),
              ElementsAre("google.com/gpu on GPU-1: 1", "other.com/gpu on GPU-0: 1",
                          "other.com/part on GPU-1: 1"));
}

TEST(Holdings, KeepAGpuThatTheNodeDoesNotHaveAnyMore) {
  EXPECT_THAT(places(shared(), {{held(kWhole, {"GPU-7"})}}), ElementsAre("nvidia.com/gpu on : 1"));
}

TEST(Holdings, LeaveOutWhatIsNoGpu) {
  EXPECT_THAT(places(shared(), {{held("example.com/nic", {"eth0"})}}), IsEmpty());
}

TEST(Holdings, CountTheMemoryThatSharesWereGrantedWith) {
  const Catalog all = shared();
  Ledger ledger{{held(kMemory, {id(all, kMemory, 0, 0), id(all, kMemory, 0, 1)})}};
  EXPECT_EQ(placed_holdings(all, ledger)[0].devices[0].bytes, 2 * kGiB);
  ledger.sizes[kMemory][id(all, kMemory, 0, 0)] = 3 * kGiB;
  EXPECT_EQ(placed_holdings(all, ledger)[0].devices[0].bytes, 4 * kGiB);
}

TEST(WithheldShares, AreNoneWhereNothingIsHeld) { EXPECT_THAT(reasons(shared(), {}), IsEmpty()); }

TEST(WithheldShares, NameThePodThatHoldsTheWholeGpu) {
  const Catalog all = shared();
  EXPECT_THAT(
      reasons(all, {{held(kWhole, {id(all, kWhole, 1, 0)})}}),
      ElementsAre("8 shares of aliyun.com/gpu-mem on GPU 1 are not offered: the whole GPU "
                  "is held as nvidia.com/gpu by default/train-0, container main",
                  "4 shares of deepomatic.com/shared-gpu on GPU 1 are not offered: the "
                  "whole GPU is held as nvidia.com/gpu by default/train-0, container main"));
}

TEST(WithheldShares, NameThePodThatHoldsAPart) {
  const Catalog all = shared();
  EXPECT_THAT(reasons(all, {{held(kMemory, {id(all, kMemory, 0, 0), id(all, kMemory, 0, 1)})}}),
              ElementsAre("1 share of deepomatic.com/shared-gpu on GPU 0 is not offered: 2048 MiB "
                          "of its memory is held as aliyun.com/gpu-mem by default/train-0, "
                          "container main",
                          "1 share of nvidia.com/gpu on GPU 0 is not offered: 2048 MiB of its "
                          "memory is held as aliyun.com/gpu-mem by default/train-0, container "
                          "main"));
}

TEST(WithheldShares, NameThePodOnAMigDeviceOfTheGpu) {
  Inventory node = an_inventory({a_cut_gpu(0, {k1g10gb})});
  Catalog all = offer(node, {.mig = MigStrategy::kMixed});
  const Ledger ledger{{held("nvidia.com/gpu", {"GPU-0"})}};
  EXPECT_THAT(reasons(all, ledger),
              ElementsAre("1 share of nvidia.com/mig-1g.10gb on GPU 0:0 is not offered: the GPU "
                          "that it is a part of, GPU-0, is held as nvidia.com/gpu by "
                          "default/train-0, container main"));
}

TEST(WithheldShares, SayWhereOnlyTheLargestBlockIsOffered) {
  Inventory node = a_node(2);
  for (Gpu& gpu : node.gpus) gpu.memory_bytes = 8 * kGiB;
  ResourcePolicy policy = row(kMemory, ShareForm::kMemory);
  policy.terms.shown = ShownSize::kLargestBlock;
  EXPECT_THAT(reasons(offer(node, {.policies = {policy}}), {}),
              ElementsAre("8 shares of aliyun.com/gpu-mem on GPU 1 are not offered: the resource "
                          "offers its largest free block only, which is on another GPU"));
}

TEST(WithheldShares, AreNotThoseOfAnUnhealthyGpu) {
  Catalog all = shared();
  const std::string share = id(all, kWhole, 1, 0);
  for (Offer& one : all.offers) one.devices[1].health.troubles = {"XID 79"};
  EXPECT_THAT(reasons(all, {{held(kWhole, {share})}}), IsEmpty());
}

}  // namespace
}  // namespace tranche::core
