// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/features/device_sharing.h"
#include "core/features/testing/labelling.h"

namespace tranche::core {
namespace {

constexpr const char* kProduct = "NVIDIA-H100-80GB-HBM3";
constexpr const char* kShared = "NVIDIA-H100-80GB-HBM3-SHARED";

SharingPolicy replicated(unsigned replicas) {
  return {.replications = {replicas_of("nvidia.com/gpu", replicas)}};
}

TEST(SharingLabels, OfTimeSlicing) {
  const NodeLabels labels = labels_of(a_node(2), replicated(4));
  EXPECT_EQ(label(labels, "gpu.product"), kShared);
  EXPECT_EQ(label(labels, "gpu.count"), "2");
  EXPECT_EQ(label(labels, "gpu.replicas"), "4");
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "time-slicing");
  EXPECT_EQ(label(labels, "mps.capable"), "false");
}

TEST(SharingLabels, OfRenamedReplicasKeepTheProduct) {
  SharingPolicy policy = replicated(4);
  policy.replications[0].rename = ResourceName("nvidia.com/gpu.shared");
  const NodeLabels labels = labels_of(a_node(2), policy);
  EXPECT_EQ(label(labels, "gpu.product"), kProduct);
  EXPECT_EQ(label(labels, "gpu.replicas"), "4");
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "time-slicing");
}

TEST(SharingLabels, OfMps) {
  SharingPolicy policy = replicated(4);
  policy.replicas_use_mps = true;
  const NodeLabels labels = labels_of(a_node(2), policy);
  EXPECT_EQ(label(labels, "gpu.product"), kShared);
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "mps");
  EXPECT_EQ(label(labels, "mps.capable"), "true");
}

TEST(SharingLabels, OfOneReplicaAreThoseOfAWholeGpu) {
  const NodeLabels labels = labels_of(a_node(2), replicated(1));
  EXPECT_EQ(label(labels, "gpu.product"), kProduct);
  EXPECT_EQ(label(labels, "gpu.replicas"), "1");
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "none");
}

TEST(SharingLabels, GiveNoNumberIfGpusHaveDifferentOnes) {
  SharingPolicy policy = replicated(4);
  policy.replications[0].devices = FirstDevices{1};
  const NodeLabels labels = labels_of(a_node(2), policy);
  EXPECT_EQ(label(labels, "gpu.replicas"), "(none)");
  EXPECT_EQ(label(labels, "gpu.product"), kShared) << "a pod may get the shared one";
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "time-slicing");
}

TEST(SharingLabels, DescribeTheUsualNameIfSomeGpusHaveAnother) {
  SharingPolicy policy = replicated(4);
  policy.replications[0].rename = ResourceName("nvidia.com/gpu.shared");
  policy.replications[0].devices = FirstDevices{2};
  const NodeLabels labels = labels_of(a_node(3), policy);
  EXPECT_EQ(label(labels, "gpu.product"), kProduct);
  EXPECT_EQ(label(labels, "gpu.replicas"), "1");
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "none");
}

TEST(SharingLabels, OfUnitsOfMemoryGiveNoReplicas) {
  const SharingPolicy policy{.policies = {{.resource = ResourceName("nvidia.com/gpu-memory"),
                                           .terms = {.form = ShareForm::kMemory},
                                           .unit = 1ULL << 30}}};
  const NodeLabels labels = labels_of(a_node(2), policy);
  EXPECT_EQ(label(labels, "gpu.product"), kProduct) << "nvidia.com/gpu is not shared";
  EXPECT_EQ(label(labels, "gpu.count"), "2");
  EXPECT_EQ(label(labels, "gpu.replicas"), "(none)");
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "time-slicing");
}

TEST(SharingLabels, DescribeWholeGpusThatArePartlyOfferedAsMemoryToo) {
  const ResourcePolicy memory{.resource = ResourceName("nvidia.com/gpu-memory"),
                              .terms = {.form = ShareForm::kMemory},
                              .unit = 1ULL << 30};
  const ResourcePolicy whole{.resource = ResourceName("nvidia.com/gpu")};
  const NodeLabels labels = labels_of(a_node(2), {.policies = {memory, whole}});
  EXPECT_EQ(label(labels, "gpu.product"), kProduct);
  EXPECT_EQ(label(labels, "gpu.replicas"), "1");
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "none");
}

TEST(SharingLabels, OfAPolicyWithReplicasUnderTheUsualName) {
  const ResourcePolicy policy{
      .resource = ResourceName("nvidia.com/gpu"),
      .terms = {.form = ShareForm::kReplicas, .demanded = Enforcement::kMpsExclusive},
      .replicas = 5};
  const NodeLabels labels = labels_of(a_node(2), {.policies = {policy}});
  EXPECT_EQ(label(labels, "gpu.product"), kShared);
  EXPECT_EQ(label(labels, "gpu.replicas"), "5");
  EXPECT_EQ(label(labels, "gpu.sharing-strategy"), "mps");
  EXPECT_EQ(label(labels, "mps.capable"), "true");
}

TEST(SharingLabels, FollowTheNameThatTheConfigurationGivesAModel) {
  SharingPolicy policy{.gpu_names = {{"*H100*", ResourceName("nvidia.com/h100")}},
                       .replications = {replicas_of("nvidia.com/h100", 2)}};
  const NodeLabels labels = labels_of(a_node(2), policy);
  EXPECT_EQ(label(labels, "gpu.product"), kShared);
  EXPECT_EQ(label(labels, "gpu.replicas"), "2");
}

TEST(SharingLabels, SayThatNothingIsOfferedOfADeviceThatIsWithheld) {
  const DeviceSharing none =
      sharing_of({"GPU-9"}, ResourceName("nvidia.com/gpu"), offer(a_node(2), {}));
  EXPECT_EQ(none.replicas, 0U);
  EXPECT_EQ(none.strategy, "none");
}

}  // namespace
}  // namespace tranche::core
