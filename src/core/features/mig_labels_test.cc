// SPDX-License-Identifier: Apache-2.0
#include "core/features/mig_labels.h"

#include <gtest/gtest.h>

#include "core/features/testing/labelling.h"

namespace tranche::core {
namespace {

const SharingPolicy kSingle{.mig = MigStrategy::kSingle};
const SharingPolicy kMixed{.mig = MigStrategy::kMixed};

Gpu cut(unsigned index, const std::vector<MigProfile>& profiles) {
  Gpu gpu = a_cut_gpu(index, profiles);
  for (MigDevice& mig : gpu.mig) {
    mig.memory_bytes = (mig.profile.memory_gb * 970ULL) << 20;
    mig.units = MigUnits{16 * mig.profile.gpu_slices, 1, 2, 3, 4, 5};
  }
  return gpu;
}

TEST(MigLabels, OfStrategySingleDescribeTheMigDevicesAsGpus) {
  const NodeLabels labels =
      labels_of(an_inventory({cut(0, {k1g10gb, k1g10gb}), cut(1, {k1g10gb, k1g10gb})}), kSingle);
  EXPECT_EQ(label(labels, "mig.strategy"), "single");
  EXPECT_EQ(label(labels, "gpu.product"), "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb");
  EXPECT_EQ(label(labels, "gpu.count"), "4");
  EXPECT_EQ(label(labels, "gpu.replicas"), "1");
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "none");
  EXPECT_EQ(label(labels, "gpu.memory"), "9700");
  EXPECT_EQ(label(labels, "gpu.multiprocessors"), "16");
  EXPECT_EQ(label(labels, "gpu.slices.gi"), "1");
  EXPECT_EQ(label(labels, "gpu.slices.ci"), "1");
  EXPECT_EQ(label(labels, "gpu.engines.copy"), "1");
  EXPECT_EQ(label(labels, "gpu.engines.decoder"), "2");
  EXPECT_EQ(label(labels, "gpu.engines.encoder"), "3");
  EXPECT_EQ(label(labels, "gpu.engines.jpeg"), "4");
  EXPECT_EQ(label(labels, "gpu.engines.ofa"), "5");
  EXPECT_EQ(label(labels, "gpu.family"), "hopper");
}

TEST(MigLabels, OfStrategySingleWithoutMigAreThoseOfGpus) {
  const NodeLabels labels = labels_of(a_node(2), kSingle);
  EXPECT_EQ(label(labels, "mig.strategy"), "single");
  EXPECT_EQ(label(labels, "gpu.product"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(label(labels, "gpu.count"), "2");
}

TEST(MigLabels, OfStrategySingleDescribeTheLayoutThatIsServed) {
  const NodeLabels cut_ones = labels_of(
      an_inventory({cut(0, {k2g20gb}), cut(1, {k1g10gb, k1g10gb}), cut(2, {k1g10gb}), a_gpu(3)}),
      kSingle);
  EXPECT_EQ(label(cut_ones, "gpu.product"), "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb");
  EXPECT_EQ(label(cut_ones, "gpu.count"), "3");
  const NodeLabels whole_ones =
      labels_of(an_inventory({cut(0, {k2g20gb}), a_gpu(1), a_gpu(2)}), kSingle);
  EXPECT_EQ(label(whole_ones, "gpu.product"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(label(whole_ones, "gpu.count"), "2");
}

TEST(MigLabels, SayInvalidIfNothingOfTheNodeFitsStrategySingle) {
  for (const auto& profiles : {std::vector<MigProfile>{}, {k1g10gb, k2g20gb}}) {
    const NodeLabels labels = labels_of(an_inventory({cut(0, profiles)}), kSingle);
    EXPECT_EQ(label(labels, "gpu.product"), "NVIDIA-H100-80GB-HBM3-MIG-INVALID");
    EXPECT_EQ(label(labels, "gpu.count"), "0");
    EXPECT_EQ(label(labels, "gpu.replicas"), "0");
    EXPECT_EQ(label(labels, "gpu.memory"), "0");
    EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "");
    EXPECT_EQ(label(labels, "gpu.family"), "hopper");
  }
}

TEST(MigLabels, OfStrategyMixedDescribeEachProfileAndTheGpus) {
  const NodeLabels labels = labels_of(
      an_inventory({a_gpu(0), cut(1, {k1g10gb, k1g10gb, k3g40gb}), cut(2, {k1g10gb})}), kMixed);
  EXPECT_EQ(label(labels, "mig.strategy"), "mixed");
  EXPECT_EQ(label(labels, "gpu.product"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(label(labels, "gpu.count"), "3");
  EXPECT_EQ(label(labels, "gpu.replicas"), "1");
  EXPECT_EQ(label(labels, "mig-1g.10gb.product"), "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb");
  EXPECT_EQ(label(labels, "mig-1g.10gb.count"), "3");
  EXPECT_EQ(label(labels, "mig-1g.10gb.replicas"), "1");
  EXPECT_EQ(label(labels, "mig-1g.10gb.sharing-strategy"), "none");
  EXPECT_EQ(label(labels, "mig-3g.40gb.count"), "1");
  EXPECT_EQ(label(labels, "mig-3g.40gb.multiprocessors"), "48");
  EXPECT_EQ(label(labels, "mig-3g.40gb.slices.gi"), "3");
}

TEST(MigLabels, SayThatNoWholeGpuIsOfferedIfAllAreCut) {
  const Inventory node = an_inventory({cut(0, {k1g10gb})});
  EXPECT_EQ(label(labels_of(node, kMixed), "gpu.replicas"), "0");
  EXPECT_EQ(label(labels_of(node), "gpu.replicas"), "1") << "strategy none offers it as a whole";
  EXPECT_EQ(label(labels_of(node), "mig.strategy"), "(none)");
  EXPECT_EQ(label(labels_of(node), "mig-1g.10gb.count"), "(none)");
}

TEST(MigLabels, SpellAttributesAsResourceNamesDo) {
  const NodeLabels labels =
      labels_of(an_inventory({cut(0, {{1, 1, 10, "+me"}, {1, 3, 40, ""}})}), kMixed);
  EXPECT_EQ(label(labels, "mig-1g.10gb.me.product"), "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me");
  EXPECT_EQ(label(labels, "mig-1c.3g.40gb.slices.ci"), "1");
  EXPECT_EQ(label(labels, "mig-1c.3g.40gb.replicas"), "0") << "it has no resource";
}

TEST(MigLabels, HaveNoEnginesWhereTheyAreNotKnown) {
  const NodeLabels labels = labels_of(an_inventory({a_cut_gpu(0, {k1g10gb})}), kMixed);
  EXPECT_EQ(label(labels, "mig-1g.10gb.engines.copy"), "(none)");
  EXPECT_EQ(label(labels, "mig-1g.10gb.multiprocessors"), "(none)");
  EXPECT_EQ(label(labels, "mig-1g.10gb.slices.gi"), "1");
}

TEST(MigLabels, OfAProfileOnSeveralModelsNameTheModelOfMost) {
  Gpu other = cut(0, {k1g10gb});
  other.model = "NVIDIA A100 80GB PCIe";
  const NodeLabels labels = labels_of(an_inventory({other, cut(1, {k1g10gb, k1g10gb})}), kMixed);
  EXPECT_EQ(label(labels, "mig-1g.10gb.product"), "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb");
  EXPECT_EQ(label(labels, "mig-1g.10gb.count"), "3");
}

TEST(MigLabels, SayWhichMigDevicesAreShared) {
  SharingPolicy policy = kMixed;
  policy.replications = {replicas_of("nvidia.com/mig-1g.10gb", 3)};
  const NodeLabels labels = labels_of(an_inventory({cut(0, {k1g10gb, k2g20gb})}), policy);
  EXPECT_EQ(label(labels, "mig-1g.10gb.product"), "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED");
  EXPECT_EQ(label(labels, "mig-1g.10gb.replicas"), "3");
  EXPECT_EQ(label(labels, "mig-1g.10gb.sharing-strategy"), "time-slicing");
  EXPECT_EQ(label(labels, "mig-2g.20gb.replicas"), "1");
}

}  // namespace
}  // namespace tranche::core
