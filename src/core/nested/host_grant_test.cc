// SPDX-License-Identifier: Apache-2.0
#include "core/nested/host_grant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kGiB = 1ULL << 30;

Gpu a_gpu(unsigned index) {
  return {.uuid = GpuUuid("GPU-" + std::to_string(index)),
          .index = index,
          .minor = index,
          .memory_bytes = 80 * kGiB};
}

// GPU 2 is cut into two.
Inventory three_gpus() {
  Inventory inventory{.gpus = {a_gpu(0), a_gpu(1), a_gpu(2)}};
  inventory.gpus[2].mig_enabled = true;
  inventory.gpus[2].mig = {{.uuid = MigUuid("MIG-0"), .index = 0, .memory_bytes = 40 * kGiB},
                           {.uuid = MigUuid("MIG-1"), .index = 1, .memory_bytes = 40 * kGiB}};
  return inventory;
}

HostGrant by_env(std::vector<std::string> names) {
  return {.source = "/gpu.env", .env = GpuEnv{.names = std::move(names)}};
}

HostGrant by_json(std::vector<NestedDevice> devices) {
  return {.source = "/gpu-grants", .grants = {{.resource = "r", .devices = std::move(devices)}}};
}

std::vector<std::string> uuids(const GuestInventory& guest) {
  std::vector<std::string> found;
  for (const Gpu& gpu : guest.inventory.gpus) {
    if (!gpu.only_slices) found.push_back(gpu.uuid.text);
    for (const MigDevice& mig : gpu.mig) found.push_back(mig.uuid.text);
  }
  return found;
}

TEST(GrantedPart, IsTheGrantedGpusAlone) {
  const GuestInventory guest = granted_part(three_gpus(), by_env({"GPU-1"}));
  EXPECT_THAT(uuids(guest), ElementsAre("GPU-1"));
  EXPECT_THAT(guest.notes, IsEmpty());
  EXPECT_THAT(uuids(granted_part(three_gpus(), by_env({}))), IsEmpty());
}

TEST(GrantedPart, CountsGpusAsTheDriverDoes) {
  Inventory node = three_gpus();
  node.gpus[1].lost = true;  // not listed
  node.gpus[2].driver_index = 1;
  EXPECT_THAT(uuids(granted_part(node, by_env({"1:0"}))), ElementsAre("MIG-0"));
  EXPECT_THAT(uuids(granted_part(node, by_env({"1"}))), ElementsAre("GPU-2", "MIG-0", "MIG-1"));
}

TEST(GrantedPart, IsEverythingForTheWordAll) {
  HostGrant all = by_env({});
  all.env->all = true;
  EXPECT_EQ(granted_part(three_gpus(), all).inventory, three_gpus());
}

TEST(GrantedPart, KnowsGpusByIndexToo) {
  EXPECT_THAT(uuids(granted_part(three_gpus(), by_env({"0", "2:1"}))),
              ElementsAre("GPU-0", "MIG-1"));
}

TEST(GrantedPart, OfAGpuWhoseSlicesWereGrantedIsTheseSlices) {
  const GuestInventory guest = granted_part(three_gpus(), by_env({"MIG-1"}));
  ASSERT_EQ(guest.inventory.gpus.size(), 1U);
  EXPECT_TRUE(guest.inventory.gpus[0].only_slices);
  EXPECT_THAT(uuids(guest), ElementsAre("MIG-1"));
}

TEST(GrantedPart, OfAGpuThatWasGrantedWholeHasAllItsSlices) {
  EXPECT_THAT(uuids(granted_part(three_gpus(), by_env({"GPU-2"}))),
              ElementsAre("GPU-2", "MIG-0", "MIG-1"));
}

TEST(GrantedPart, TellsOfWhatTheDriverDoesNotHave) {
  const GuestInventory guest = granted_part(three_gpus(), by_env({"GPU-0", "GPU-typo"}));
  EXPECT_THAT(uuids(guest), ElementsAre("GPU-0"));
  EXPECT_THAT(guest.notes,
              ElementsAre(testing::AllOf(HasSubstr("GPU-typo"), HasSubstr("/gpu.env"))));
}

TEST(GrantedPart, TellsOfVeryManyUnknownOnesInOneSentence) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("GPU-x" + std::to_string(i));
  const GuestInventory guest = granted_part(three_gpus(), by_env(std::move(names)));
  ASSERT_EQ(guest.notes.size(), 1U);
  EXPECT_THAT(guest.notes[0], HasSubstr("and 992 more"));
  EXPECT_LT(guest.notes[0].size(), 300U);
}

TEST(GrantedPart, HasTheHostsWordOnHealth) {
  const GuestInventory guest = granted_part(
      three_gpus(), by_json({{.uuid = "GPU-0", .gpu = "GPU-0", .health = {{"XID 79: gone"}}},
                             {.uuid = "GPU-1", .gpu = "GPU-1"}}));
  EXPECT_EQ(guest.inventory.gpus[0].health.reason(), "host: XID 79: gone");
  EXPECT_TRUE(guest.inventory.gpus[1].health.ok());
}

TEST(GrantedPart, HasNoMoreMemoryThanWasGranted) {
  const GuestInventory guest = granted_part(three_gpus(), by_json({{.uuid = "GPU-0",
                                                                    .gpu = "GPU-0",
                                                                    .form = ShareForm::kMemory,
                                                                    .granted_bytes = 20 * kGiB},
                                                                   {.uuid = "MIG-0",
                                                                    .gpu = "GPU-2",
                                                                    .form = ShareForm::kReplicas,
                                                                    .granted_bytes = 4 * kGiB}}));
  EXPECT_EQ(guest.inventory.gpus[0].memory_bytes, 20 * kGiB);
  EXPECT_EQ(guest.inventory.gpus[1].mig[0].memory_bytes, 4 * kGiB);
}

TEST(GrantedPart, AddsUpWhatSeveralResourcesGrantOfOneGpu) {
  HostGrant grant = by_json(
      {{.uuid = "GPU-0", .gpu = "GPU-0", .form = ShareForm::kMemory, .granted_bytes = 20 * kGiB}});
  grant.grants.push_back({.resource = "other",
                          .devices = {{.uuid = "GPU-0",
                                       .gpu = "GPU-0",
                                       .form = ShareForm::kReplicas,
                                       .granted_bytes = 8 * kGiB}}});
  EXPECT_EQ(granted_part(three_gpus(), grant).inventory.gpus[0].memory_bytes, 28 * kGiB);
}

TEST(GrantedPart, KeepsAllMemoryOfAWholeGpuAndOfSharesThatCountNone) {
  const GuestInventory guest = granted_part(
      three_gpus(), by_json({{.uuid = "GPU-0", .gpu = "GPU-0", .granted_bytes = 80 * kGiB},
                             {.uuid = "GPU-1", .gpu = "GPU-1", .form = ShareForm::kReplicas}}));
  EXPECT_EQ(guest.inventory.gpus[0].memory_bytes, 80 * kGiB);
  EXPECT_EQ(guest.inventory.gpus[1].memory_bytes, 80 * kGiB);
}

// A host that is itself a guest has a part of the GPU, and grants all of that.
TEST(GrantedPart, IsNoMoreThanTheHostItselfHas) {
  const GuestInventory guest = granted_part(
      three_gpus(), by_json({{.uuid = "GPU-0", .gpu = "GPU-0", .memory_bytes = 10 * kGiB},
                             {.uuid = "GPU-1", .gpu = "GPU-1", .memory_bytes = 80 * kGiB}}));
  EXPECT_EQ(guest.inventory.gpus[0].memory_bytes, 10 * kGiB);
  EXPECT_TRUE(guest.inventory.gpus[0].partial);
  EXPECT_FALSE(guest.inventory.gpus[1].partial);
}

TEST(GrantedPart, LearnsTheSizeOfAGpuFromTheHostWhereTheDriverDoesNotSay) {
  Inventory node = three_gpus();
  for (Gpu& gpu : node.gpus) gpu.memory_bytes = 0;
  const GuestInventory guest =
      granted_part(node, by_json({{.uuid = "GPU-0", .gpu = "GPU-0", .memory_bytes = 80 * kGiB},
                                  {.uuid = "GPU-1",
                                   .gpu = "GPU-1",
                                   .memory_bytes = 80 * kGiB,
                                   .form = ShareForm::kMemory,
                                   .granted_bytes = 10 * kGiB}}));
  EXPECT_EQ(guest.inventory.gpus[0].memory_bytes, 80 * kGiB);
  EXPECT_FALSE(guest.inventory.gpus[0].partial);
  EXPECT_EQ(guest.inventory.gpus[1].memory_bytes, 10 * kGiB);
  EXPECT_TRUE(guest.inventory.gpus[1].partial);
}

TEST(GrantedPart, DoesNotCallGpusUnknownWhileTheDriverCannotBeRead) {
  EXPECT_THAT(granted_part({.driver_trouble = "not loaded"}, by_env({"GPU-0"})).notes, IsEmpty());
}

TEST(GrantedPart, SaysOfAnEmptyListThatItIsEmpty) {
  EXPECT_THAT(granted_part(three_gpus(), by_env({})).notes,
              ElementsAre(HasSubstr("/gpu.env is empty")));
}

TEST(UnknownPart, IsNoNodeWithoutGpusButADriverThatCannotBeRead) {
  const GuestInventory guest = unknown_part(three_gpus(), "there is no /gpu.env");
  EXPECT_THAT(guest.inventory.gpus, IsEmpty());
  EXPECT_EQ(guest.inventory.driver, DriverKind::kNone);
  EXPECT_THAT(guest.inventory.driver_trouble, HasSubstr("there is no /gpu.env"));
}

TEST(HostGrant, IsToldInAFewWords) {
  EXPECT_EQ(to_string(by_env({"GPU-1", "GPU-0"})), "GPU-0,GPU-1");
  EXPECT_EQ(to_string(by_env({})), "none");
}

}  // namespace
}  // namespace tranche::core
