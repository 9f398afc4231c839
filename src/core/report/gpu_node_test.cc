// SPDX-License-Identifier: Apache-2.0
#include "core/report/gpu_node.h"

#include <gmock/gmock.h>

#include "core/gpu/testing/literals.h"
#include "core/report/prediction.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr std::uint64_t kGiB = 1ULL << 30;

SharingPolicy memory_units() {
  ResourcePolicy policy{.resource = ResourceName("aliyun.com/gpu-mem"), .unit = kGiB};
  policy.terms.form = ShareForm::kMemory;
  policy.terms.placement = SharePlacement::kPack;
  policy.terms.one_device = true;
  return {.policies = {policy}};
}

class PublishedNode : public testing::Test {
 protected:
  PublishedNode() {
    for (Gpu& gpu : node_.gpus) gpu.memory_bytes = 16 * kGiB;
    catalog_ = offer(node_, memory_units());
    catalog_.offers[0].terms.one_device = true;
  }

  std::vector<std::string> units(unsigned gpu, unsigned first, unsigned count) const {
    std::vector<std::string> ids;
    const OfferedDevice& device = catalog_.offers[0].devices[gpu];
    for (unsigned i = 0; i < count; ++i) {
      ids.push_back(share_id(device.uuid, device.tag, first + i));
    }
    return ids;
  }
  GpuNode published() const { return gpu_node(node_, catalog_, &ledger_, "", {.version = "1"}); }

  Inventory node_ = a_node(3);
  Catalog catalog_;
  Ledger ledger_;
};

TEST_F(PublishedNode, HasWhatIsFreeOnEachGpuAndTheLargestBlock) {
  ledger_.holdings = {{"aliyun.com/gpu-mem", {"ml", "a", "u", "c"}, units(0, 0, 10)},
                      {"aliyun.com/gpu-mem", {"ml", "b", "v", "c"}, units(1, 3, 4)}};
  node_.gpus[2].health.troubles = {"XID 79"};
  catalog_ = offer(node_, memory_units());
  const GpuNode node = published();
  ASSERT_THAT(node.resources, SizeIs(1));
  EXPECT_EQ(free_counts(node.resources[0]), (FreeShares{18, 12}));
  EXPECT_EQ(held_shares(node.resources[0]), 14U);
  EXPECT_THAT(node.holders, SizeIs(2));
  EXPECT_EQ(node.holders[0].holder.pod, "a");
  EXPECT_EQ(node.holders[0].gpu_number, 0U);
  EXPECT_EQ(node.holders[0].shares, 10U);
  EXPECT_EQ(node.holders[0].bytes, 10 * kGiB);
  EXPECT_EQ(held_text(node), "2 containers on 2 GPUs");
  EXPECT_EQ(health_text(node), "1 of 3 unhealthy: GPU 2: XID 79");
}

TEST_F(PublishedNode, HasNothingFreeWhileItIsNotKnownWhatIsHeld) {
  const GpuNode node = gpu_node(node_, catalog_, nullptr, "the kubelet does not answer", {});
  EXPECT_FALSE(node.holders_known);
  EXPECT_EQ(node.holders_problem, "the kubelet does not answer");
  EXPECT_EQ(free_counts(node.resources[0]), FreeShares{});
  EXPECT_FALSE(predict(node.resources[0], node.topology, 1));
}

TEST_F(PublishedNode, PredictsTheGpuThatTheAgentTakes) {
  ledger_.holdings = {{"aliyun.com/gpu-mem", {"ml", "a", "u", "c"}, units(1, 0, 9)}};
  const GpuNode node = published();
  const auto small = predict(node.resources[0], node.topology, 5);
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_THAT(*small, ElementsAre(Pair("GPU-1", 5U)));
  const auto large = predict(node.resources[0], node.topology, 8);
  ASSERT_TRUE(large);
  EXPECT_THAT(*large, ElementsAre(Pair("GPU-0", 8U)));
}

TEST_F(PublishedNode, PredictsARefusalWithItsNumbers) {
  const GpuNode node = published();
  const auto too_large = predict(node.resources[0], node.topology, 17);
  ASSERT_FALSE(too_large);
  EXPECT_THAT(too_large.error().message, HasSubstr("16"));
  const auto far_too_large = predict(node.resources[0], node.topology, 49);
  ASSERT_FALSE(far_too_large);
  EXPECT_EQ(far_too_large.error().message, "48 of aliyun.com/gpu-mem are free, asked 49");
}

TEST_F(PublishedNode, KeepsTheLinksByTheOrderOfItsGpus) {
  Topology shuffled({GpuUuid("GPU-2"), GpuUuid("GPU-0")});
  shuffled.set(0, 1, {PcieDistance::kOneSwitch, 4});
  node_.topology = shuffled;
  const GpuNode node = published();
  EXPECT_EQ(node.topology.between(0, 2), (GpuLink{PcieDistance::kOneSwitch, 4}));
  EXPECT_EQ(node.topology.between(0, 1), GpuLink{});
}

TEST_F(PublishedNode, SaysWhatIsNotOffered) {
  catalog_.notes = {"a listed device does not exist"};
  catalog_.withheld = {{"GPU-9", "9", "excluded"}};
  EXPECT_THAT(published().notes,
              ElementsAre("a listed device does not exist", "GPU-9 is not offered: excluded"));
}

TEST_F(PublishedNode, FitsEtcdHoweverLongItsTextsAre) {
  const std::string endless(2'000'000, 'x');
  Inventory inventory = a_node(1);
  inventory.driver_trouble = endless;
  inventory.gpus[0].health.troubles = {endless};
  inventory.remedies = {{"GPU-0", endless, "a reboot of the node"}};
  Catalog catalog = offer(inventory, {});
  catalog.notes = {endless};
  const GpuNode node = gpu_node(inventory, catalog, nullptr, endless, {.last_refusal = endless});
  for (const std::string& text :
       {node.driver_trouble, node.gpus[0].health.troubles[0], node.remedies[0].trouble,
        node.notes[0], node.holders_problem, node.agent.last_refusal,
        node.resources[0].offer.devices[0].health.troubles[0]}) {
    EXPECT_EQ(text.size(), 1024U);
  }
  EXPECT_EQ(node.remedies[0].trouble, node.gpus[0].health.troubles[0]);
}

TEST(ModelsText, HasTheMostFrequentModelFirst) {
  Inventory node = a_node(3);
  node.gpus[0].model = "NVIDIA L4";
  EXPECT_EQ(models_text(node.gpus), "2x H100 80GB HBM3, 1x L4");
  EXPECT_THAT(models_text({}), IsEmpty());
}

TEST(HealthText, IsUnknownWhileTheDriverCannotBeRead) {
  EXPECT_EQ(health_text({.driver_trouble = "gone"}), "Unknown: gone");
  EXPECT_EQ(healthy_gpus({.driver_trouble = "gone"}), std::nullopt);
  EXPECT_EQ(health_text({.is_released = true}).substr(0, 8), "Unknown:");
  EXPECT_EQ(healthy_gpus({.is_released = true}), std::nullopt);
}

TEST(HealthText, NamesGpusWithOneReasonTogetherAndIsNotTooLong) {
  GpuNode node{.gpus = a_node(4).gpus};
  for (const unsigned gpu : {0U, 2U}) node.gpus[gpu].health.troubles = {"XID 79"};
  node.gpus[3].health.troubles = {"XID 48"};
  EXPECT_EQ(health_text(node), "3 of 4 unhealthy: GPU 0, GPU 2: XID 79; GPU 3: XID 48");
  node.gpus[3].health.troubles = {std::string(1000, 'x')};
  EXPECT_LE(health_text(node).size(), 200U);
}

TEST(HealthText, CountsAGpuWithAnUnhealthyMigDevice) {
  GpuNode node{.gpus = {a_cut_gpu(0, {k1g10gb, k3g40gb}), a_gpu(1)}};
  node.gpus[0].mig[1].health.troubles = {"XID 94"};
  EXPECT_EQ(healthy_gpus(node), 1U);
  EXPECT_EQ(health_text(node), "1 of 2 unhealthy: GPU 0:1: XID 94");
}

}  // namespace
}  // namespace tranche::core
