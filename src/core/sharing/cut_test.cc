// SPDX-License-Identifier: Apache-2.0
//
// tranche.policies: how devices are offered, under which names and ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/gpu/testing/literals.h"
#include "core/sharing/memory_unit.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kGiB = 1ULL << 30;

ResourcePolicy row(const char* name, ShareForm form = ShareForm::kWhole) {
  ResourcePolicy policy{.resource = ResourceName(name)};
  policy.terms.form = form;
  return policy;
}

ResourcePolicy in_units(const char* name, std::optional<std::uint64_t> unit) {
  ResourcePolicy policy = row(name, ShareForm::kMemory);
  policy.unit = unit;
  return policy;
}

ResourcePolicy in_replicas(const char* name, unsigned count) {
  ResourcePolicy policy = row(name, ShareForm::kReplicas);
  policy.replicas = count;
  return policy;
}

ResourcePolicy on(std::vector<DeviceRef> devices, ResourcePolicy policy) {
  policy.devices = std::move(devices);
  return policy;
}

// "name: GPU-0 GPU-1x10", one line a resource.
std::vector<std::string> lines(const Catalog& catalog) {
  std::vector<std::string> result;
  for (const Offer& offer : catalog.offers) {
    std::string line = offer.name.text + ":";
    for (const OfferedDevice& device : offer.devices) {
      line += " " + device.uuid;
      if (device.replicas) line += "x" + std::to_string(*device.replicas);
    }
    result.push_back(line);
  }
  return result;
}

Catalog catalog(unsigned gpus, std::vector<ResourcePolicy> rows) {
  return offer(a_node(gpus), {.policies = std::move(rows)});
}

TEST(Policies, OfferEachGpuInItsOwnWay) {
  Inventory node = a_node(3);
  node.gpus.push_back(a_cut_gpu(3, {k1g10gb, k2g20gb}));
  node.gpus[3].mig[0].memory_bytes = 10 * kGiB;
  ResourcePolicy slices = in_replicas("example.com/slice", 2);
  slices.mig_profile = "1g.*";
  const Catalog all =
      offer(node, {.policies = {on({GpuIndex{1}}, in_replicas("deepomatic.com/shared-gpu", 10)),
                                on({GpuIndex{2}}, in_units("aliyun.com/gpu-mem", kGiB)), slices}});
  EXPECT_THAT(lines(all),
              ElementsAre("aliyun.com/gpu-mem: GPU-2x79", "deepomatic.com/shared-gpu: GPU-1x10",
                          "example.com/slice: MIG-3-0x2", "nvidia.com/gpu: GPU-0"));
  ASSERT_EQ(all.withheld.size(), 1U);
  EXPECT_EQ(all.withheld[0].index, "3:1");
  EXPECT_THAT(all.withheld[0].reason, HasSubstr("fits no row"));
}

TEST(Policies, ChooseGpusByModelUuidAndCount) {
  Inventory node = a_node(3);
  node.gpus[2].model = "Tesla T4";
  ResourcePolicy by_model = row("example.com/t4");
  by_model.model = "*t4*";
  ResourcePolicy first = row("example.com/first");
  first.devices = FirstDevices{1};
  EXPECT_THAT(
      lines(offer(node,
                  {.policies = {by_model, first, on({AnyUuid{"GPU-1"}}, row("example.com/one"))}})),
      ElementsAre("example.com/first: GPU-0", "example.com/one: GPU-1", "example.com/t4: GPU-2"));
}

TEST(Policies, OfferOneGpuUnderSeveralNames) {
  EXPECT_THAT(lines(catalog(1, {row("nvidia.com/gpu"), in_units("aliyun.com/gpu-mem", kGiB),
                                in_replicas("deepomatic.com/shared-gpu", 4)})),
              ElementsAre("aliyun.com/gpu-mem: GPU-0x79", "deepomatic.com/shared-gpu: GPU-0x4",
                          "nvidia.com/gpu: GPU-0"));
}

TEST(Policies, GiveNoTwoResourcesTheSameId) {
  const Catalog all = catalog(
      1, {row("nvidia.com/gpu"), row("example.com/gpu"), in_replicas("nvidia.com/gpu.shared", 2),
          in_replicas("deepomatic.com/shared-gpu", 2), in_units("nvidia.com/gpumem", kGiB)});
  std::set<std::string> ids;
  std::size_t shares = 0;
  for (const Offer& offer : all.offers) {
    for (const OfferedDevice& device : offer.devices) {
      for (unsigned i = 0; i < device.shares(); ++i) {
        ids.insert(
            share_id(device.uuid, device.tag, device.replicas ? std::optional(i) : std::nullopt));
        ++shares;
      }
    }
  }
  EXPECT_EQ(all.offers.size(), 5U);
  EXPECT_EQ(ids.size(), shares);
  EXPECT_TRUE(ids.contains("GPU-0"));
  EXPECT_TRUE(ids.contains("GPU-0::1"));
  EXPECT_TRUE(ids.contains("GPU-0::slg5-1"));
}

TEST(Policies, WithholdADeviceWhoseIdsAnotherNameHas) {
  const Catalog all = catalog(1, {in_replicas("nvidia.com/a", 2), in_replicas("nvidia.com/b", 2)});
  EXPECT_THAT(lines(all), ElementsAre("nvidia.com/a: GPU-0x2"));
  ASSERT_EQ(all.withheld.size(), 1U);
  EXPECT_THAT(all.withheld[0].reason,
              AllOf(HasSubstr("nvidia.com/b"), HasSubstr("those of nvidia.com/a"),
                    HasSubstr("a domain of its own")));
}

TEST(Policies, LeaveWholeGpusThatFitNoRowUnderTheSameName) {
  EXPECT_THAT(lines(catalog(3, {on({GpuIndex{1}}, row("nvidia.com/gpu"))})),
              ElementsAre("nvidia.com/gpu: GPU-0 GPU-1 GPU-2"));
}

TEST(Policies, WithholdGpusWhoseUsualNameHasOtherTerms) {
  const Catalog all = catalog(2, {on({GpuIndex{1}}, in_replicas("nvidia.com/gpu", 4))});
  EXPECT_THAT(lines(all), ElementsAre("nvidia.com/gpu: GPU-1x4"));
  ASSERT_EQ(all.withheld.size(), 1U);
  EXPECT_THAT(all.withheld[0].reason, HasSubstr("on other terms"));
}

TEST(Policies, NoteARowThatFitsNothing) {
  EXPECT_THAT(catalog(1, {on({GpuIndex{7}}, row("example.com/gpu"))}).notes,
              ElementsAre("tranche.policies: example.com/gpu: no GPU has index 7"));
  ResourcePolicy by_model = row("example.com/t4");
  by_model.model = "*T4*";
  EXPECT_THAT(catalog(1, {by_model}).notes,
              ElementsAre("tranche.policies: example.com/t4 fits no device of this node "
                          "(model: '*T4*')"));
}

TEST(Policies, NoteWhyAListedDeviceIsNotAmongThoseOfTheRow) {
  Inventory node = a_node(2);
  node.numbers[5] = {.pci = *parse_pci_address("0000:07:00.0")};
  const auto notes = [&](const DeviceRef& device, std::vector<Exclusion> excluded = {}) {
    return offer(node, {.policies = {on({device}, row("a.b/x"))}, .excluded = std::move(excluded)})
        .notes;
  };
  const std::string where = "tranche.policies: a.b/x: ";
  EXPECT_THAT(notes(GpuIndex{5}),
              ElementsAre(where + "index 5 is PCI address 0000:07:00.0, where no GPU is now"));
  EXPECT_THAT(notes(AnyUuid{"GPU-9"}), ElementsAre(where + "no device has uuid GPU-9"));
  EXPECT_THAT(notes(MigIndex{9, 1}),
              ElementsAre(where + "no MIG device has index 9:1: no GPU has index 9"));
  EXPECT_THAT(notes(MigIndex{1, 2}),
              ElementsAre(where + "no MIG device that the row fits has index 1:2; GPU 1 has 0 MIG "
                                  "devices"));
  EXPECT_THAT(notes(GpuIndex{1}, {GpuIndex{1}}),
              ElementsAre(where + "index 1 is a " + node.gpus[1].model +
                          ", which the row does not fit: it is excluded, cut with MIG, or of "
                          "another model or name"));
}

TEST(Policies, CountMemoryOfGpusOfDifferentSizesEachByItsOwn) {
  Inventory node = a_node(2);
  node.gpus[0].memory_bytes = 16 * kGiB;
  node.gpus[1].memory_bytes = 80 * kGiB;
  EXPECT_THAT(lines(offer(node, {.policies = {in_units("aliyun.com/gpu-mem", kGiB)}})),
              ElementsAre("aliyun.com/gpu-mem: GPU-0x16 GPU-1x80"));
}

TEST(Policies, OfferNoMoreReplicasThanTheMemoryThatTheyCover) {
  ResourcePolicy tenth = in_replicas("a.b/tenth", 10);
  tenth.replica_memory = 30 * kGiB;
  const Catalog catalog = offer(a_node(1), {.policies = {tenth}});
  EXPECT_THAT(lines(catalog), ElementsAre("a.b/tenth: GPU-0x2"));
  EXPECT_THAT(catalog.notes,
              ElementsAre(AllOf(HasSubstr("10 replicas do not fit"), HasSubstr("2 are offered"))));
  tenth.replica_memory = 100 * kGiB;
  const Catalog none = offer(a_node(1), {.policies = {tenth}});
  EXPECT_THAT(lines(none), IsEmpty());
  ASSERT_EQ(none.withheld.size(), 1U);
  EXPECT_THAT(none.withheld[0].reason, HasSubstr("less memory than one of its replicas covers"));
}

TEST(Policies, CountReplicasBesideReplicasThatAreHeldToTheirMemory) {
  ResourcePolicy held = in_replicas("example.com/held", 4);
  held.terms.demanded = Enforcement::kMps;
  const Catalog all = catalog(1, {held, in_replicas("example.com/free", 10)});
  for (const Offer& offer : all.offers) {
    const OfferedDevice& device = offer.devices.at(0);
    EXPECT_EQ(device.share_bytes, device.memory_bytes / *device.replicas) << offer.name.text;
  }
}

TEST(Policies, WithholdAGpuOfUnknownSizeFromMemory) {
  Inventory node = a_node(1);
  node.gpus[0].memory_bytes = 0;
  const Catalog all = offer(node, {.policies = {in_units("aliyun.com/gpu-mem", kGiB)}});
  EXPECT_THAT(all.offers, IsEmpty());
  EXPECT_THAT(all.withheld[0].reason, HasSubstr("is not known"));
}

TEST(MemoryUnit, ThatIsTooSmallIsRefusedWithTheSmallestThatFits) {
  Inventory node = a_node(1);
  node.gpus[0].memory_bytes = 143771ULL << 20;  // an H200
  const Catalog all = offer(node, {.policies = {in_units("aliyun.com/gpu-mem", kMebibyte)}});
  EXPECT_THAT(oversized(all), AllOf(HasSubstr("units of 1MiB"), HasSubstr("143771 shares"),
                                    HasSubstr("smallest unit that fits: 64MiB")));
  const Catalog fitting = offer(node, {.policies = {in_units("aliyun.com/gpu-mem", 64ULL << 20)}});
  EXPECT_EQ(oversized(fitting), "");
}

TEST(MemoryUnit, AutoTakesTheSmallestThatFits) {
  Inventory node = a_node(8);
  for (Gpu& gpu : node.gpus) gpu.memory_bytes = 143771ULL << 20;
  const Catalog all = offer(node, {.policies = {in_units("aliyun.com/gpu-mem", std::nullopt)}});
  EXPECT_EQ(oversized(all), "");
  EXPECT_EQ(all.offers[0].terms.unit_bytes, 64ULL << 20);
  EXPECT_EQ(all.offers[0].shares(), 8U * 2246U);
}

TEST(MemoryUnit, ThatWasChosenStaysWhenTheLargestGpuIsGone) {
  Inventory node = a_node(2);
  node.gpus[0].memory_bytes = 143771ULL << 20;
  node.gpus[1].memory_bytes = 48ULL << 30;
  const SharingPolicy policy{.policies = {in_units("aliyun.com/gpu-mem", std::nullopt)}};
  const KeptUnits kept = units_to_keep(policy, offer(node, policy), {});
  EXPECT_EQ(kept, (KeptUnits{{"aliyun.com/gpu-mem", 64ULL << 20}}));
  node.gpus.erase(node.gpus.begin());
  const Catalog left = offer(node, with_kept_units(policy, kept));
  EXPECT_EQ(left.offers[0].terms.unit_bytes, 64ULL << 20);
  EXPECT_THAT(left.notes, testing::Contains(HasSubstr("a unit stays 64MiB")));
  EXPECT_EQ(units_to_keep(policy, left, kept), kept);
  // Nor is it forgotten while there is no GPU at all.
  EXPECT_EQ(units_to_keep(policy, {}, kept), kept);
}

TEST(MemoryUnit, ThatIsGivenIsNotKept) {
  const SharingPolicy policy{.policies = {in_units("aliyun.com/gpu-mem", kGiB)}};
  const KeptUnits before{{"aliyun.com/gpu-mem", 64ULL << 20}};
  EXPECT_EQ(offer(a_node(1), with_kept_units(policy, before)).offers[0].terms.unit_bytes, kGiB);
  EXPECT_EQ(units_to_keep(policy, {}, before), KeptUnits{});
}

TEST(MemoryUnit, MayBeAMebibyteOnASmallGpu) {
  Inventory node = a_node(1);
  node.gpus[0].memory_bytes = 4096ULL << 20;
  EXPECT_EQ(oversized(offer(node, {.policies = {in_units("a.b/mem", kMebibyte)}})), "");
}

TEST(MemoryUnit, IsWrittenAsInAConfiguration) {
  EXPECT_EQ(unit_text(kGiB), "1GiB");
  EXPECT_EQ(unit_text(256ULL << 20), "256MiB");
  EXPECT_EQ(unit_text(1536ULL << 20), "1536MiB");
}

// Two compute instances of one GPU instance have the same memory.
TEST(Cut, PromisesTheMemoryOfAGpuInstanceOnce) {
  const MigProfile part{1, 2, 20, ""};
  ASSERT_FALSE(fills_its_instance(part));
  Gpu gpu = a_cut_gpu(0, {part, part});
  for (MigDevice& mig : gpu.mig) mig.memory_bytes = 20ULL << 30;
  ResourcePolicy row{.resource = ResourceName("example.com/mem"), .mig_profile = "*"};
  row.terms.form = ShareForm::kMemory;
  row.unit = 1ULL << 30;
  const Catalog catalog = offer(an_inventory({gpu}), {.policies = {row}});
  EXPECT_TRUE(catalog.offers.empty());
  ASSERT_EQ(catalog.withheld.size(), 2U);
  EXPECT_NE(catalog.withheld[0].reason.find("its GPU instance"), std::string::npos);
}

}  // namespace
}  // namespace tranche::core
