// SPDX-License-Identifier: Apache-2.0
#include "core/placement/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Offer in_units(unsigned gpus) {
  ResourcePolicy row{.resource = ResourceName("aliyun.com/gpu-mem"), .unit = 1ULL << 30};
  row.terms.form = ShareForm::kMemory;
  row.terms.one_device = true;
  return offer(a_node(gpus), {.policies = {row}}).offers.at(0);
}

std::string id(const Offer& offer, unsigned gpu, unsigned number) {
  return share_id("GPU-" + std::to_string(gpu), offer.devices[gpu].tag, number);
}

std::string complaint(const Offer& offer, const OfferRoom& room,
                      const std::vector<std::string>& ids) {
  const Status status = fits(offer, &room, {ids.begin(), ids.end()});
  return status ? "" : status.error().message;
}

TEST(Fit, LetsUnitsOfOneGpuPass) {
  const Offer units = in_units(2);
  EXPECT_EQ(complaint(units, empty_room(units), {id(units, 1, 0), id(units, 1, 78)}), "");
}

TEST(Fit, RefusesUnitsOfTwoGpusAndSaysWhatIsFreeWhere) {
  const Offer units = in_units(2);
  OfferRoom room = empty_room(units);
  room[0].free = 3;
  EXPECT_THAT(complaint(units, room, {id(units, 0, 0), id(units, 1, 0)}),
              AllOf(HasSubstr("2 were requested"), HasSubstr("from one GPU"), HasSubstr("1GiB"),
                    HasSubstr("GPU 0: 3 of 79, GPU 1: 79 of 79")));
}

TEST(Fit, SaysWhetherAGpuHadRoomForAll) {
  const Offer units = in_units(2);
  OfferRoom room = empty_room(units);
  const std::vector<std::string> two{id(units, 0, 0), id(units, 1, 0)};
  EXPECT_THAT(complaint(units, room, two), HasSubstr("although GPU 0 has as many free"));
  room[0].free = room[1].free = 1;
  EXPECT_THAT(complaint(units, room, two), HasSubstr("no GPU has as many free"));
}

TEST(Fit, DoesNotSayWhatIsFreeWhereThatIsNotKnown) {
  const Offer units = in_units(2);
  const std::vector<std::string> ids{id(units, 0, 0), id(units, 1, 0)};
  EXPECT_THAT(fits(units, nullptr, {ids.begin(), ids.end()}).error().message,
              testing::Not(HasSubstr("free now")));
}

TEST(Fit, CountsAnUnhealthyGpuAsWithoutAnythingFree) {
  Offer units = in_units(2);
  units.devices[1].health.troubles = {"lost"};
  EXPECT_THAT(complaint(units, empty_room(units), {id(units, 0, 0), id(units, 1, 0)}),
              HasSubstr("GPU 1: unhealthy, 0 of 79"));
}

TEST(Fit, RefusesTwoReplicasOfOneGpuWhereDifferentOnesAreDemanded) {
  ResourcePolicy row{.resource = ResourceName("deepomatic.com/shared-gpu"), .replicas = 4};
  row.terms.form = ShareForm::kReplicas;
  row.terms.distinct_gpus = true;
  const Offer replicas = offer(a_node(2), {.policies = {row}}).offers.at(0);
  const OfferRoom room = empty_room(replicas);
  EXPECT_EQ(complaint(replicas, room, {id(replicas, 0, 0), id(replicas, 1, 3)}), "");
  const std::vector<std::string> two{id(replicas, 0, 0), id(replicas, 0, 1)};
  EXPECT_THAT(
      complaint(replicas, room, two),
      AllOf(HasSubstr("on different GPUs"), HasSubstr("the kubelet chose shares of only 1")));
  EXPECT_THAT(complaint(replicas, {room[0], {}}, two), HasSubstr("only 1 GPUs have one free"));
}

TEST(Fit, TakesTwoSlicesOfOneGpuForOneGpu) {
  Offer slices{.name = ResourceName("example.com/slice"), .terms = {.distinct_gpus = true}};
  for (const char* uuid : {"MIG-a", "MIG-b"}) {
    slices.devices.push_back({.uuid = uuid, .gpu = GpuUuid("GPU-0"), .mig_index = 0});
  }
  EXPECT_THAT(complaint(slices, empty_room(slices), {"MIG-a", "MIG-b"}),
              HasSubstr("on different GPUs"));
}

}  // namespace
}  // namespace tranche::core
