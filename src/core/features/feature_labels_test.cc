// SPDX-License-Identifier: Apache-2.0
#include "core/features/feature_labels.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/features/testing/labelling.h"

namespace tranche::core {
namespace {

Inventory eight_gpus() {
  Inventory node = a_node(8);
  node.cuda_version = "13.0";
  for (Gpu& gpu : node.gpus) {
    gpu.features = {.mig_capable = true, .pci_class = 0x030200, .is_vgpu = false};
  }
  return node;
}

TEST(FeatureLabels, OfEightWholeGpus) {
  const NodeLabels expected{{"nvidia.com/cuda.driver-version.full", "580.105.08"},
                            {"nvidia.com/cuda.driver-version.major", "580"},
                            {"nvidia.com/cuda.driver-version.minor", "105"},
                            {"nvidia.com/cuda.driver-version.revision", "08"},
                            {"nvidia.com/cuda.driver.major", "580"},
                            {"nvidia.com/cuda.driver.minor", "105"},
                            {"nvidia.com/cuda.driver.rev", "08"},
                            {"nvidia.com/cuda.runtime-version.full", "13.0"},
                            {"nvidia.com/cuda.runtime-version.major", "13"},
                            {"nvidia.com/cuda.runtime-version.minor", "0"},
                            {"nvidia.com/cuda.runtime.major", "13"},
                            {"nvidia.com/cuda.runtime.minor", "0"},
                            {"nvidia.com/gfd.timestamp", "1700000000"},
                            {"nvidia.com/gpu.compute.major", "9"},
                            {"nvidia.com/gpu.compute.minor", "0"},
                            {"nvidia.com/gpu.count", "8"},
                            {"nvidia.com/gpu.family", "hopper"},
                            {"nvidia.com/gpu.machine", "DGX-H100"},
                            {"nvidia.com/gpu.memory", "81559"},
                            {"nvidia.com/gpu.mode", "compute"},
                            {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
                            {"nvidia.com/gpu.replicas", "1"},
                            {"nvidia.com/gpu.sharing-strategy", "none"},
                            {"nvidia.com/mig.capable", "true"},
                            {"nvidia.com/mps.capable", "false"},
                            {"nvidia.com/vgpu.present", "false"}};
  EXPECT_EQ(labels_of(eight_gpus()), expected);
}

TEST(FeatureLabels, OfANodeWithoutGpusSayThatThereIsNoVirtualOne) {
  EXPECT_EQ(labels_of(a_node(0)), (NodeLabels{{"nvidia.com/gfd.timestamp", "1700000000"},
                                              {"nvidia.com/vgpu.present", "false"}}));
}

TEST(FeatureLabels, HaveNoTimestampIfNoneIsGiven) {
  const Inventory node = eight_gpus();
  EXPECT_EQ(label(feature_labels(node, offer(node, {}), {}, {}), "gfd.timestamp"), "(none)");
}

TEST(FeatureLabels, DescribeTheModelThatMostGpusHave) {
  const Inventory node =
      an_inventory({of_model(0, "Tesla T4"), of_model(1, "NVIDIA L4"), of_model(2, "NVIDIA L4")});
  EXPECT_EQ(label(labels_of(node), "gpu.product"), "NVIDIA-L4");
  EXPECT_EQ(label(labels_of(node), "gpu.count"), "2");
}

TEST(FeatureLabels, DescribeTheModelWithTheLowestNumberOnATie) {
  std::vector<Gpu> gpus{of_model(0, "Tesla T4"), of_model(1, "NVIDIA L4"), of_model(2, "A"),
                        of_model(3, "NVIDIA L4"), of_model(4, "Tesla T4")};
  gpus[0].memory_bytes = 15360ULL << 20;
  gpus[0].compute_major = 7;
  gpus[0].compute_minor = 5;
  const NodeLabels labels = labels_of(an_inventory(gpus));
  EXPECT_EQ(label(labels, "gpu.product"), "Tesla-T4");
  EXPECT_EQ(label(labels, "gpu.family"), "turing");
  EXPECT_EQ(label(labels, "gpu.memory"), "15360");
}

TEST(FeatureLabels, DoNotChangeWhileGpusFail) {
  const Inventory healthy = eight_gpus();
  Inventory failing = healthy;
  failing.gpus[0].health.troubles = {"Xid 79"};
  failing.gpus[0].lost = true;
  failing.gpus[1].health.troubles = {"the driver cannot be read"};
  failing.driver_trouble = "the driver cannot be read";
  EXPECT_EQ(labels_of(failing), labels_of(healthy));
}

TEST(FeatureLabels, DoNotCountExcludedGpusAndDisplayAdapters) {
  Inventory node =
      an_inventory({of_model(0, "DGX Display"), of_model(1, "Tesla T4"), of_model(2, "NVIDIA L4")});
  const SharingPolicy policy{.excluded = {ModelPattern{"*T4*"}}};
  EXPECT_EQ(label(labels_of(node, policy), "gpu.product"), "NVIDIA-L4");
  EXPECT_EQ(label(labels_of(node, policy), "gpu.count"), "1");
}

TEST(FeatureLabels, LeaveOutWhatIsNotKnown) {
  Inventory node = an_inventory({{.uuid = GpuUuid("GPU-0"), .model = ""}});
  node.driver = DriverKind::kDeviceNodes;
  node.driver_version = "";
  const NodeLabels labels = feature_labels(node, offer(node, {}), {}, {});
  const NodeLabels expected{{"nvidia.com/gpu.count", "1"},
                            {"nvidia.com/gpu.machine", "unknown"},
                            {"nvidia.com/gpu.mode", "unknown"},
                            {"nvidia.com/gpu.replicas", "1"},
                            {"nvidia.com/gpu.sharing-strategy", "none"},
                            {"nvidia.com/mps.capable", "false"}};
  EXPECT_EQ(labels, expected);
}

TEST(FeatureLabels, HaveTheDriversVersionWithoutARevision) {
  Inventory node = eight_gpus();
  node.driver_version = "580.105";
  EXPECT_EQ(label(labels_of(node), "cuda.driver-version.revision"), "");
  node.driver_version = "custom build!";
  EXPECT_EQ(label(labels_of(node), "cuda.driver-version.major"), "(none)");
  EXPECT_EQ(label(labels_of(node), "cuda.driver-version.full"), "(none)");
}

TEST(FeatureLabels, NameTheFamilyOfEachArchitecture) {
  struct Row {
    unsigned major, minor;
    const char* family;
  };
  for (const Row& row : {Row{1, 3, "tesla"},
                         {2, 0, "fermi"},
                         {3, 5, "kepler"},
                         {5, 2, "maxwell"},
                         {6, 0, "pascal"},
                         {7, 0, "volta"},
                         {7, 5, "turing"},
                         {8, 0, "ampere"},
                         {8, 6, "ampere"},
                         {8, 9, "ada-lovelace"},
                         {9, 0, "hopper"},
                         {10, 0, "blackwell"},
                         {11, 0, "blackwell"},
                         {12, 0, "blackwell"},
                         {13, 0, "rubin"},
                         {99, 0, "(none)"}}) {
    Inventory node = a_node(1);
    node.gpus[0].compute_major = row.major;
    node.gpus[0].compute_minor = row.minor;
    EXPECT_EQ(label(labels_of(node), "gpu.family"), row.family) << row.major;
    EXPECT_EQ(label(labels_of(node), "gpu.compute.major"), std::to_string(row.major));
  }
}

TEST(FeatureLabels, GiveTheModeOnlyIfAllGpusHaveIt) {
  Inventory node = eight_gpus();
  for (Gpu& gpu : node.gpus) gpu.features.pci_class = 0x030000;
  EXPECT_EQ(label(labels_of(node), "gpu.mode"), "graphics");
  node.gpus[7].features.pci_class = 0x030200;
  EXPECT_EQ(label(labels_of(node), "gpu.mode"), "unknown");
}

TEST(FeatureLabels, NameTheCliqueIfGpusOfTheFabricAgree) {
  Inventory node = eight_gpus();
  const FabricClique clique{"7d4c9a1e-3f52-4b8e-9c1d-5e6f7a8b9c0d", 2};
  EXPECT_EQ(label(labels_of(node), "gpu.clique"), "(none)");
  node.gpus[3].features.fabric = clique;
  node.gpus[4].features.fabric = clique;
  EXPECT_EQ(label(labels_of(node), "gpu.clique"), "7d4c9a1e-3f52-4b8e-9c1d-5e6f7a8b9c0d.2");
  node.gpus[5].features.fabric = FabricClique{clique.cluster, 3};
  EXPECT_EQ(label(labels_of(node), "gpu.clique"), "(none)");
}

TEST(FeatureLabels, TellOfAVirtualGpuAndItsHost) {
  Inventory node = eight_gpus();
  node.gpus[2].features.is_vgpu = true;
  node.gpus[2].features.vgpu_host = {"550.90.05", "r550_00"};
  EXPECT_EQ(label(labels_of(node), "vgpu.present"), "true");
  EXPECT_EQ(label(labels_of(node), "vgpu.host-driver-version"), "550.90.05");
  EXPECT_EQ(label(labels_of(node), "vgpu.host-driver-branch"), "r550_00");
  node.gpus[2].features.vgpu_host = {"\x01", ""};
  EXPECT_EQ(label(labels_of(node), "vgpu.host-driver-version"), "(none)");
  EXPECT_EQ(label(labels_of(node), "vgpu.host-driver-branch"), "(none)");
}

TEST(FeatureLabels, DoNotGuessWhetherAGpuIsVirtualOrMigCapable) {
  Inventory node = eight_gpus();
  node.gpus[2].features = {};
  EXPECT_EQ(label(labels_of(node), "vgpu.present"), "(none)");
  EXPECT_EQ(label(labels_of(node), "mig.capable"), "true");
  for (Gpu& gpu : node.gpus) gpu.features.mig_capable = false;
  EXPECT_EQ(label(labels_of(node), "mig.capable"), "false");
  node.gpus[2].features.mig_capable.reset();
  EXPECT_EQ(label(labels_of(node), "mig.capable"), "(none)");
}

TEST(FeatureLabels, AreAllValidWhateverTheNodeCallsItself) {
  Inventory node =
      an_inventory({of_model(0, std::string(200, '+') + "x y\n" + std::string(90, 'z'))});
  node.driver_version = "1.2.\xff";
  node.cuda_version = "a b.c";
  node.gpus[0].features.fabric = FabricClique{"not a uuid", 1};
  MachineFacts machine{.type = "--  (a) " + std::string(100, 'b')};
  for (const auto& [key, value] : feature_labels(node, offer(node, {}), {}, machine)) {
    EXPECT_TRUE(is_label_value(value)) << key << "=" << value;
  }
}

}  // namespace
}  // namespace tranche::core
