// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using testing::HasSubstr;

Offer gpus(std::optional<unsigned> replicas) {
  return {.name = ResourceName("nvidia.com/gpu"),
          .devices = {{.uuid = "GPU-a", .gpu_index = 0, .replicas = replicas},
                      {.uuid = "GPU-b", .gpu_index = 1, .replicas = replicas}}};
}

TEST(OfferFind, FindsAWholeDeviceByItsUuid) {
  const Offer offer = gpus(std::nullopt);
  ASSERT_NE(offer.find("GPU-b"), nullptr);
  EXPECT_EQ(offer.find("GPU-b")->gpu_index, 1U);
  EXPECT_EQ(offer.find("GPU-c"), nullptr);
  EXPECT_EQ(offer.find("GPU-b::0"), nullptr);
  EXPECT_EQ(offer.find(""), nullptr);
}

TEST(OfferFind, FindsAReplicaOnlyBelowItsCount) {
  const Offer offer = gpus(3);
  ASSERT_NE(offer.find("GPU-a::2"), nullptr);
  EXPECT_EQ(offer.find("GPU-a::3"), nullptr);
  EXPECT_EQ(offer.find("GPU-a"), nullptr);
}

TEST(OversizedCatalog, IsToldWithTheFigures) {
  Offer offer = gpus(40000);
  for (OfferedDevice& device : offer.devices) device.uuid.resize(40, 'x');
  const std::string text = oversized({.offers = {offer}});
  EXPECT_THAT(text, HasSubstr("nvidia.com/gpu would have 80000 shares and 4.7 MiB"));
  EXPECT_THAT(text, HasSubstr("the kubelet accepts at most 4.0 MiB, about 67954 shares"));
}

TEST(OversizedCatalog, IsNotToldOfOneThatFits) { EXPECT_EQ(oversized({.offers = {gpus(10)}}), ""); }

TEST(OfferedDeviceIndex, IsWrittenAsNvidiasIndexStrategyDoes) {
  EXPECT_EQ((OfferedDevice{.gpu_index = 3}).index(), "3");
  EXPECT_EQ((OfferedDevice{.gpu_index = 3, .mig_index = 1}).index(), "3:1");
}

}  // namespace
}  // namespace tranche::core
