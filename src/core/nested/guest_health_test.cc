// SPDX-License-Identifier: Apache-2.0
#include "core/nested/guest_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"

namespace tranche::core {
namespace {

using testing::HasSubstr;

const NestedDevice kGpu{.uuid = "GPU-0", .gpu = "GPU-0"};
const NestedDevice kSlice{.uuid = "MIG-1-0", .gpu = "GPU-1"};

Inventory a_gpu_and_a_slice() { return an_inventory({a_gpu(0), a_cut_gpu(1, {k3g40gb})}); }

std::string reason(const Catalog& catalog, const Inventory& inventory, const NestedDevice& device) {
  return guest_health(catalog, inventory, "a.b/c", device).reason();
}

TEST(GuestHealth, IsThatOfTheOfferWithAllThatIsKnownAgainstIt) {
  Offer offer{.name = ResourceName("a.b/c"), .devices = {{.uuid = "GPU-0"}}};
  offer.devices[0].health.troubles = {"MPS: its daemon is not there yet"};
  EXPECT_EQ(reason({.offers = {offer}}, a_gpu_and_a_slice(), kGpu),
            "MPS: its daemon is not there yet");
  offer.name = ResourceName("another/name");
  EXPECT_EQ(reason({.offers = {offer}}, a_gpu_and_a_slice(), kGpu), "");
}

TEST(GuestHealth, IsTheDriversWhereTheDeviceIsNotOfferedAnyMore) {
  Inventory node = a_gpu_and_a_slice();
  node.gpus[0].health.troubles = {"XID 79"};
  EXPECT_EQ(reason({}, node, kGpu), "XID 79");
}

TEST(GuestHealth, OfASliceIsItsOwnAndItsGpus) {
  Inventory node = a_gpu_and_a_slice();
  EXPECT_EQ(reason({}, node, kSlice), "");
  node.gpus[1].health.troubles = {"XID 79"};
  node.gpus[1].mig[0].health.troubles = {"XID 13"};
  EXPECT_THAT(reason({}, node, kSlice), testing::AllOf(HasSubstr("XID 79"), HasSubstr("XID 13")));
}

TEST(GuestHealth, IsNotGoodOfWhatTheNodeDoesNotHave) {
  EXPECT_THAT(reason({}, a_node(0), kGpu), HasSubstr("no longer has it"));
  Inventory without_slices = a_gpu_and_a_slice();
  without_slices.gpus[1].mig.clear();
  EXPECT_THAT(reason({}, without_slices, kSlice), HasSubstr("no longer has it"));
}

TEST(GuestHealth, IsNotGoodWhileTheDriverCannotBeRead) {
  EXPECT_EQ(reason({}, {.driver_trouble = "not loaded"}, kGpu), "driver: not loaded");
}

}  // namespace
}  // namespace tranche::core
