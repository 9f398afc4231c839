// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ResourceName name(const char* text) { return ResourceName(text); }

// "nvidia.com/gpu: GPU-0 GPU-1", one line a resource.
std::vector<std::string> lines(const Catalog& catalog) {
  std::vector<std::string> result;
  for (const Offer& offer : catalog.offers) {
    std::string line = offer.name.text + ":";
    for (const OfferedDevice& device : offer.devices) {
      line += " " + device.uuid;
      if (device.replicas) line += "x" + std::to_string(*device.replicas);
      if (!device.health.ok()) line += "!";
    }
    result.push_back(line);
  }
  return result;
}

std::vector<std::string> withheld(const Catalog& catalog) {
  std::vector<std::string> result;
  for (const Withheld& device : catalog.withheld) {
    result.push_back(device.uuid + " (" + device.index + "): " + device.reason);
  }
  return result;
}

TEST(Offer, HasNothingWhereThereIsNoGpu) { EXPECT_EQ(offer(a_node(0), {}), Catalog{}); }

TEST(Offer, CallsAWholeGpuNvidiaComGpu) {
  EXPECT_THAT(lines(offer(a_node(2), {})), ElementsAre("nvidia.com/gpu: GPU-0 GPU-1"));
}

TEST(Offer, KeepsAnUnhealthyGpuListed) {
  Inventory node = a_node(2);
  node.gpus[1].health.troubles = {"GPU is lost"};
  EXPECT_THAT(lines(offer(node, {})), ElementsAre("nvidia.com/gpu: GPU-0 GPU-1!"));
}

TEST(Offer, CarriesTheNumberAndTheDriversIndex) {
  Inventory node = an_inventory({a_cut_gpu(3, {k1g10gb})});
  node.gpus[0].driver_index = 2;
  const OfferedDevice device = offer(node, {.mig = MigStrategy::kMixed}).offers[0].devices[0];
  EXPECT_EQ(device.index(), "3:0");
  EXPECT_EQ(device.runtime_index(), "2:0");
}

TEST(Offer, CarriesWhatAContainerNeedsToKnow) {
  Inventory node = an_inventory({a_cut_gpu(3, {k1g10gb})});
  node.gpus[0].numa_node = 1;
  const Catalog catalog = offer(node, {.mig = MigStrategy::kMixed});
  ASSERT_EQ(catalog.offers.size(), 1U);
  EXPECT_EQ(catalog.offers[0].devices[0],
            (OfferedDevice{.uuid = "MIG-3-0",
                           .gpu = GpuUuid("GPU-3"),
                           .gpu_index = 3,
                           .mig_index = 0,
                           .model = "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
                           .minor = 3,
                           .caps = {3 + 135 * 3 + 9, 4 + 135 * 3 + 9},
                           .numa_node = 1}));
}

TEST(MigStrategyNone, OffersACutGpuAsAWhole) {
  const Inventory node = an_inventory({a_gpu(0), a_cut_gpu(1, {k1g10gb, k1g10gb})});
  EXPECT_THAT(lines(offer(node, {})), ElementsAre("nvidia.com/gpu: GPU-0 GPU-1"));
}

TEST(MigStrategyMixed, OffersEachProfileUnderItsOwnName) {
  const Inventory node =
      an_inventory({a_gpu(0), a_cut_gpu(1, {k3g40gb, k1g10gb, MigProfile{1, 1, 10, "+me"}})});
  EXPECT_THAT(lines(offer(node, {.mig = MigStrategy::kMixed})),
              ElementsAre("nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.10gb: MIG-1-1",
                          "nvidia.com/mig-1g.10gb.me: MIG-1-2", "nvidia.com/mig-3g.40gb: MIG-1-0"));
}

TEST(MigStrategyMixed, LeavesOutACutGpuWithoutSlices) {
  const Catalog catalog =
      offer(an_inventory({a_gpu(0), a_cut_gpu(1, {})}), {.mig = MigStrategy::kMixed});
  EXPECT_THAT(lines(catalog), ElementsAre("nvidia.com/gpu: GPU-0"));
  EXPECT_THAT(withheld(catalog),
              ElementsAre("GPU-1 (1): MIG is enabled and no MIG device is configured"));
}

TEST(MigStrategyMixed, LosesAPartOfAnInstanceAndNotTheNode) {
  const Inventory node = an_inventory({a_gpu(0), a_cut_gpu(1, {k1g10gb, {1, 2, 20, ""}})});
  const Catalog catalog = offer(node, {.mig = MigStrategy::kMixed});
  EXPECT_THAT(lines(catalog),
              ElementsAre("nvidia.com/gpu: GPU-0", "nvidia.com/mig-1g.10gb: MIG-1-0"));
  EXPECT_THAT(withheld(catalog), ElementsAre(HasSubstr("MIG-1-1 (1:1): MIG profile 1c.2g.20gb")));
}

TEST(MigStrategyMixed, OffersAPartOfAnInstanceThatHasAPattern) {
  const Inventory node = an_inventory({a_cut_gpu(0, {{1, 2, 20, ""}})});
  EXPECT_THAT(lines(offer(node, {.mig = MigStrategy::kMixed,
                                 .mig_names = {{"1c.2g.*", name("nvidia.com/part")}}})),
              ElementsAre("nvidia.com/part: MIG-0-0"));
}

TEST(MigStrategyMixed, TurnsEverySliceOfAFaultyGpuUnhealthy) {
  Inventory node = an_inventory({a_cut_gpu(0, {k1g10gb, k2g20gb}), a_cut_gpu(1, {k1g10gb})});
  node.gpus[0].health.troubles = {"XID 95"};
  EXPECT_THAT(
      lines(offer(node, {.mig = MigStrategy::kMixed})),
      ElementsAre("nvidia.com/mig-1g.10gb: MIG-0-0! MIG-1-0", "nvidia.com/mig-2g.20gb: MIG-0-1!"));
}

TEST(MigStrategyMixed, TurnsOneSliceUnhealthyWhereTheFaultIsItsOwn) {
  Inventory node = an_inventory({a_cut_gpu(0, {k1g10gb, k1g10gb})});
  node.gpus[0].mig[1].health.troubles = {"XID 94"};
  EXPECT_THAT(lines(offer(node, {.mig = MigStrategy::kMixed})),
              ElementsAre("nvidia.com/mig-1g.10gb: MIG-0-0 MIG-0-1!"));
}

TEST(MigStrategySingle, IsTheSameAsNoneWhereNothingIsCut) {
  EXPECT_THAT(lines(offer(a_node(2), {.mig = MigStrategy::kSingle})),
              ElementsAre("nvidia.com/gpu: GPU-0 GPU-1"));
}

TEST(MigStrategySingle, CallsSlicesNvidiaComGpu) {
  const Inventory node =
      an_inventory({a_cut_gpu(0, {k3g40gb, k3g40gb}), a_cut_gpu(1, {k3g40gb, k3g40gb})});
  EXPECT_THAT(lines(offer(node, {.mig = MigStrategy::kSingle})),
              ElementsAre("nvidia.com/gpu: MIG-0-0 MIG-0-1 MIG-1-0 MIG-1-1"));
}

TEST(MigStrategySingle, LeavesOutTheGpusThatAreCutOtherwise) {
  const Inventory node = an_inventory({a_cut_gpu(0, {k1g10gb}), a_cut_gpu(1, {k3g40gb, k3g40gb}),
                                       a_cut_gpu(2, {k3g40gb}), a_cut_gpu(3, {k3g40gb, k1g10gb}),
                                       a_cut_gpu(4, {}), a_gpu(5)});
  const Catalog catalog = offer(node, {.mig = MigStrategy::kSingle});
  EXPECT_THAT(lines(catalog), ElementsAre("nvidia.com/gpu: MIG-1-0 MIG-1-1 MIG-2-0"));
  EXPECT_THAT(withheld(catalog),
              ElementsAre("GPU-0 (0): it is cut into 1g.10gb while most GPUs of the node are cut "
                          "into 3g.40gb; strategy single needs all alike",
                          "GPU-3 (3): it has MIG devices of several profiles; strategy single "
                          "needs one",
                          "GPU-4 (4): MIG is enabled and no MIG device is configured",
                          "GPU-5 (5): it is not cut with MIG while most GPUs of the node are cut "
                          "into 3g.40gb; strategy single needs all alike"));
}

TEST(MigStrategySingle, ServesTheLowestIndexOnATie) {
  const Inventory node = an_inventory({a_gpu(0), a_cut_gpu(1, {k3g40gb})});
  EXPECT_THAT(lines(offer(node, {.mig = MigStrategy::kSingle})),
              ElementsAre("nvidia.com/gpu: GPU-0"));
}

TEST(Exclusion, SaysWhichEntryMatchesNoGpu) {
  Inventory node = a_node(2);
  node.numbers = {{2, {PciAddress{0, 0x12, 0, 0}, GpuUuid("GPU-2"), ""}}};
  const SharingPolicy policy{.excluded = {GpuIndex{0}, GpuIndex{2}, GpuIndex{7}, AnyUuid{"GPU-9"},
                                          PciAddress{0, 0x99, 0, 0}, ModelPattern{"*T4*"}}};
  EXPECT_THAT(
      offer(node, policy).notes,
      ElementsAre("tranche.excludeDevices: index 2 is PCI address 0000:12:00.0, where no GPU is "
                  "now; one that is put there is excluded",
                  "tranche.excludeDevices: no GPU has index 7; the entry excludes nothing",
                  "tranche.excludeDevices: no GPU has uuid GPU-9; the entry excludes nothing, and "
                  "a card that replaced it is offered",
                  "tranche.excludeDevices: no GPU has PCI address 0000:99:00.0; the entry "
                  "excludes nothing now"));
}

TEST(Patterns, ThatMatchNothingAreNamed) {
  const Inventory node = an_inventory({a_gpu(0), a_cut_gpu(1, {k3g40gb})});
  const SharingPolicy policy{
      .gpu_names = {{"*A100*", name("nvidia.com/gpu-a100")}, {"*", name("nvidia.com/gpu")}},
      .mig_names = {{"1g.*", name("nvidia.com/small")}, {"3g.*", name("nvidia.com/large")}},
      .excluded = {ModelPattern{"*T4*"}, ModelPattern{"*H100*"}, GpuIndex{7}}};
  EXPECT_THAT(
      unmatched_patterns(node, policy),
      ElementsAre("tranche.excludeDevices: no GPU of this node has a model like '*T4*'; the entry "
                  "excludes nothing",
                  "resources.gpus: no GPU of this node has a model like '*A100*', so none is named "
                  "nvidia.com/gpu-a100",
                  "resources.mig: no MIG device of this node has a profile like '1g.*', so none is "
                  "named nvidia.com/small"));
  EXPECT_THAT(unmatched_patterns({}, policy), IsEmpty());
}

TEST(Exclusion, SaysNothingOfEntriesWhileTheDriverHasNotBeenRead) {
  EXPECT_THAT(offer({}, {.excluded = {GpuIndex{0}}}).notes, IsEmpty());
}

TEST(MigStrategySingle, DoesNotCountExcludedGpus) {
  const Inventory node = an_inventory({a_gpu(0), a_gpu(1), a_cut_gpu(2, {k3g40gb})});
  EXPECT_THAT(
      lines(offer(node, {.mig = MigStrategy::kSingle, .excluded = {GpuIndex{0}, GpuIndex{1}}})),
      ElementsAre("nvidia.com/gpu: MIG-2-0"));
}

TEST(Resources, NameGpusByModelAndTheFirstMatchWins) {
  Inventory node = a_node(3);
  node.gpus[1].model = "NVIDIA A100-SXM4-40GB";
  node.gpus[2].model = "Tesla T4";
  EXPECT_THAT(lines(offer(node, {.gpu_names = {{"*A100*", name("nvidia.com/gpu-a100")},
                                               {"NVIDIA *", name("example.com/fast")}}})),
              ElementsAre("example.com/fast: GPU-0", "nvidia.com/gpu: GPU-2",
                          "nvidia.com/gpu-a100: GPU-1"));
}

TEST(Resources, NameMigDevicesByProfile) {
  const Inventory node = an_inventory({a_cut_gpu(0, {k1g10gb, k2g20gb})});
  EXPECT_THAT(lines(offer(node, {.mig = MigStrategy::kMixed,
                                 .mig_names = {{"1g.10gb", name("nvidia.com/small")}}})),
              ElementsAre("nvidia.com/mig-2g.20gb: MIG-0-1", "nvidia.com/small: MIG-0-0"));
}

TEST(Exclusion, WorksByIndexUuidPciAddressAndModel) {
  Inventory node = a_node(5);
  node.gpus[3].model = "NVIDIA T400 4GB";
  const Catalog catalog =
      offer(node, {.excluded = {GpuIndex{0}, AnyUuid{"GPU-1"}, PciAddress{0, 0x12, 0, 0},
                                ModelPattern{"*t400*"}}});
  EXPECT_THAT(lines(catalog), ElementsAre("nvidia.com/gpu: GPU-4"));
  EXPECT_EQ(catalog.withheld.size(), 4U);
}

TEST(Offer, LeavesOutTheDisplayAdapterOfADgxStation) {
  Inventory node = a_node(2);
  node.gpus[1].model = "NVIDIA DGX Display";
  EXPECT_THAT(lines(offer(node, {})), ElementsAre("nvidia.com/gpu: GPU-0"));
}

TEST(TimeSlicing, OffersEveryDeviceManyTimesOver) {
  const Catalog catalog =
      offer(a_node(2), {.replications = {{.resource = name("nvidia.com/gpu"), .replicas = 10}}});
  EXPECT_THAT(lines(catalog), ElementsAre("nvidia.com/gpu: GPU-0x10 GPU-1x10"));
  EXPECT_EQ(catalog.offers[0].shares(), 20U);
  EXPECT_FALSE(catalog.offers[0].terms.one_share_only);
}

TEST(TimeSlicing, AllowsASingleReplica) {
  EXPECT_THAT(lines(offer(a_node(1), {.replications = {{.resource = name("nvidia.com/gpu"),
                                                        .rename = name("nvidia.com/gpu.shared"),
                                                        .replicas = 1}}})),
              ElementsAre("nvidia.com/gpu.shared: GPU-0x1"));
}

TEST(TimeSlicing, RenamesTheSelectedDevicesAndLeavesTheOthers) {
  EXPECT_THAT(
      lines(offer(a_node(4), {.replications = {{.resource = name("nvidia.com/gpu"),
                                                .rename = name("nvidia.com/gpu.shared"),
                                                .devices = std::vector<DeviceRef>{GpuIndex{1},
                                                                                  AnyUuid{"GPU-3"}},
                                                .replicas = 2}}})),
      ElementsAre("nvidia.com/gpu: GPU-0 GPU-2", "nvidia.com/gpu.shared: GPU-1x2 GPU-3x2"));
}

TEST(TimeSlicing, TakesTheFirstFewDevicesWhereACountIsGiven) {
  EXPECT_THAT(lines(offer(a_node(3), {.replications = {{.resource = name("nvidia.com/gpu"),
                                                        .devices = FirstDevices{2},
                                                        .replicas = 4}}})),
              ElementsAre("nvidia.com/gpu: GPU-0x4 GPU-1x4 GPU-2"));
}

TEST(TimeSlicing, WorksOnMigDevices) {
  const Inventory node = an_inventory({a_cut_gpu(0, {k1g10gb, k1g10gb})});
  EXPECT_THAT(
      lines(offer(node, {.mig = MigStrategy::kMixed,
                         .replications = {{.resource = name("nvidia.com/mig-1g.10gb"),
                                           .devices = std::vector<DeviceRef>{MigIndex{0, 1}},
                                           .replicas = 3}}})),
      ElementsAre("nvidia.com/mig-1g.10gb: MIG-0-0 MIG-0-1x3"));
}

TEST(TimeSlicing, CanCutOneNodeSeveralWays) {
  EXPECT_THAT(
      lines(offer(a_node(3), {.replications = {{.resource = name("nvidia.com/gpu"),
                                                .rename = name("nvidia.com/half"),
                                                .devices = std::vector<DeviceRef>{GpuIndex{0}},
                                                .replicas = 2},
                                               {.resource = name("nvidia.com/gpu"),
                                                .rename = name("nvidia.com/tenth"),
                                                .devices = std::vector<DeviceRef>{GpuIndex{1}},
                                                .replicas = 10}}})),
      ElementsAre("nvidia.com/gpu: GPU-2", "nvidia.com/half: GPU-0x2",
                  "nvidia.com/tenth: GPU-1x10"));
}

TEST(TimeSlicing, NotesWhatIsNotThere) {
  const Catalog catalog = offer(
      a_node(1), {.replications = {{.resource = name("nvidia.com/mig-1g.5gb"), .replicas = 2},
                                   {.resource = name("nvidia.com/gpu"),
                                    .devices = std::vector<DeviceRef>{GpuIndex{0}, MigIndex{7, 1}},
                                    .replicas = 2}}});
  EXPECT_THAT(
      catalog.notes,
      ElementsAre("sharing.timeSlicing names nvidia.com/mig-1g.5gb, which this node does "
                  "not have",
                  "sharing.timeSlicing of nvidia.com/gpu: no MIG device has index 7:1: no GPU "
                  "has index 7"));
}

TEST(TimeSlicing, CanLimitAContainerToOneReplica) {
  const SharingPolicy policy{.replications = {{.resource = name("nvidia.com/gpu"),
                                               .rename = name("nvidia.com/gpu.shared"),
                                               .devices = FirstDevices{1},
                                               .replicas = 2}},
                             .fail_requests_greater_than_one = true};
  const Catalog catalog = offer(a_node(2), policy);
  ASSERT_EQ(catalog.offers.size(), 2U);
  EXPECT_FALSE(catalog.offers[0].terms.one_share_only);  // the GPU that is not shared
  EXPECT_TRUE(catalog.offers[1].terms.one_share_only);
}

TEST(OnlySlices, AreNeverOfferedAsTheWholeGpu) {
  Inventory node = an_inventory({a_cut_gpu(0, {k3g40gb})});
  node.gpus[0].only_slices = true;
  const Catalog none = offer(node, {});
  EXPECT_THAT(none.offers, IsEmpty());
  EXPECT_THAT(withheld(none), ElementsAre(HasSubstr("--mig-strategy is none")));
  EXPECT_THAT(lines(offer(node, {.mig = MigStrategy::kMixed})),
              ElementsAre("nvidia.com/mig-3g.40gb: MIG-0-0"));
  EXPECT_THAT(lines(offer(node, {.mig = MigStrategy::kSingle})),
              ElementsAre("nvidia.com/gpu: MIG-0-0"));
}

TEST(UsualDialect, IsThatOfAllThatNoRowOffers) {
  const Catalog catalog = offer(an_inventory({a_gpu(0), a_cut_gpu(1, {k3g40gb})}),
                                {.mig = MigStrategy::kMixed,
                                 .usual_dialect = Dialect::kNestedHost,
                                 .usual_exposure = Exposure::kAll});
  ASSERT_EQ(catalog.offers.size(), 2U);
  for (const Offer& offer : catalog.offers) {
    EXPECT_EQ(offer.terms.dialect, Dialect::kNestedHost);
    EXPECT_EQ(offer.terms.exposure, Exposure::kAll);
  }
}

TEST(UsualDialect, DoesNotJoinARowThatSpeaksAnother) {
  ResourcePolicy row{.resource = name("nvidia.com/gpu"),
                     .devices = std::vector<DeviceRef>{GpuIndex{0}}};
  const Catalog catalog =
      offer(a_node(2), {.policies = {row}, .usual_dialect = Dialect::kNestedHost});
  EXPECT_THAT(lines(catalog), ElementsAre("nvidia.com/gpu: GPU-0"));
  EXPECT_THAT(withheld(catalog), ElementsAre(HasSubstr("on other terms")));
}

// In a nested cluster that was granted 8 GiB of the first GPU.
TEST(PartOfAGpu, IsCountedHoweverItIsOffered) {
  Inventory node = a_node(2);
  node.gpus[0].partial = true;
  node.gpus[0].memory_bytes = 8ULL << 30;
  const Catalog whole = offer(node, {});
  for (const OfferedDevice& device : whole.offers.at(0).devices) {
    EXPECT_EQ(device.share_bytes, device.memory_bytes);
  }
  const Catalog sliced =
      offer(node, {.replications = {{.resource = name("nvidia.com/gpu"), .replicas = 4}}});
  EXPECT_EQ(sliced.offers.at(0).devices.at(0).share_bytes, 2ULL << 30);
  ResourcePolicy row{
      .resource = name("a.b/c"), .terms = {.form = ShareForm::kReplicas}, .replicas = 2};
  EXPECT_EQ(offer(node, {.policies = {row}}).offers.at(0).devices.at(0).share_bytes, 4ULL << 30);
}

TEST(NodeDevices, AreAllThatTheDriverHasWithSlicesForCutGpus) {
  Inventory node = an_inventory(
      {a_gpu(0), a_cut_gpu(1, {k1g10gb, k2g20gb}), a_cut_gpu(2, {}), a_gpu(3), a_gpu(4)});
  node.gpus[3].health.troubles = {"XID 48"};
  node.gpus[4].lost = true;
  std::vector<std::string> uuids;
  for (const OfferedDevice& device : node_devices(node)) uuids.push_back(device.uuid);
  EXPECT_THAT(uuids, ElementsAre("GPU-0", "MIG-1-0", "MIG-1-1", "GPU-2", "GPU-3"));
}

}  // namespace
}  // namespace tranche::core
