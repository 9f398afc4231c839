// SPDX-License-Identifier: Apache-2.0
#include "core/health/numbering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Card `card` in slot `slot`, counted by the driver as `index`.
Gpu card_in(unsigned card, unsigned slot, unsigned index) {
  Gpu gpu = a_gpu(card);
  gpu.pci = a_gpu(slot).pci;
  gpu.index = index;
  return gpu;
}

// The cards of these slots, as a driver counts them: without gaps.
std::vector<Gpu> counted(const std::vector<unsigned>& slots) {
  std::vector<Gpu> gpus;
  for (const unsigned slot : slots) {
    gpus.push_back(card_in(slot, slot, static_cast<unsigned>(gpus.size())));
  }
  return gpus;
}

const GpuNumbers kFour = with_gpus({}, counted({0, 1, 2, 3}));

TEST(Numbering, BindsTheDriversIndexesWhenGpusAreFirstSeen) {
  ASSERT_THAT(kFour, SizeIs(4));
  EXPECT_EQ(kFour.at(2), (NumberedSlot{*a_gpu(2).pci, GpuUuid("GPU-2"), "NVIDIA H100 80GB HBM3"}));
}

TEST(Numbering, KeepsTheNumbersOfTheOthersWhenAGpuIsMissing) {
  const auto gpus = counted({0, 2, 3});
  const GpuNumbers numbers = with_gpus(kFour, gpus);
  EXPECT_THAT(numbers_of(numbers, gpus), ElementsAre(0, 2, 3));
  EXPECT_EQ(numbers, kFour) << "the missing one keeps its number";
  EXPECT_THAT(numbers_of(with_gpus(numbers, counted({0, 1, 2, 3})), counted({0, 1, 2, 3})),
              ElementsAre(0, 1, 2, 3));
}

TEST(Numbering, GivesTheNumberOfASlotToTheCardThatIsThereNow) {
  const std::vector<Gpu> gpus{card_in(0, 0, 0), card_in(9, 1, 1), card_in(2, 2, 2)};
  const GpuNumbers numbers = with_gpus(kFour, gpus);
  EXPECT_THAT(numbers_of(numbers, gpus), ElementsAre(0, 1, 2));
  EXPECT_EQ(numbers.at(1).uuid, GpuUuid("GPU-9"));
}

TEST(Numbering, FollowsACardToAnAddressWithoutANumber) {
  const std::vector<Gpu> gpus{card_in(0, 0, 0), card_in(1, 7, 1), card_in(2, 2, 2)};
  const GpuNumbers numbers = with_gpus(kFour, gpus);
  EXPECT_THAT(numbers_of(numbers, gpus), ElementsAre(0, 1, 2));
  EXPECT_EQ(numbers.at(1).pci, *a_gpu(7).pci);
}

TEST(Numbering, DoesNotFollowACardOutOfASlotThatHasAnotherCard) {
  const std::vector<Gpu> gpus{card_in(9, 1, 0), card_in(1, 7, 1)};
  EXPECT_THAT(numbers_of(with_gpus(kFour, gpus), gpus), ElementsAre(1, 4));
}

TEST(Numbering, FollowsACardOnlyFromTheSlotThatItWasSeenInLast) {
  GpuNumbers numbers = with_gpus(kFour, {card_in(3, 1, 0)});  // card 3 moved into slot 1
  EXPECT_TRUE(numbers.at(3).uuid.empty());
  numbers = with_gpus(numbers, {card_in(3, 8, 0)});
  EXPECT_EQ(numbers.at(1).pci, *a_gpu(8).pci);
  EXPECT_EQ(numbers.at(3).pci, *a_gpu(3).pci);
}

TEST(Numbering, NeverReusesANumberThatIsBound) {
  // A new card before the others: the driver counts it as 0.
  const std::vector<Gpu> gpus{card_in(8, 8, 0), card_in(0, 0, 1), card_in(2, 2, 2)};
  EXPECT_THAT(numbers_of(with_gpus(kFour, gpus), gpus), ElementsAre(4, 0, 2));
}

TEST(Numbering, BindsByTheDriversIndexAgainWhatWasForgotten) {
  GpuNumbers numbers = kFour;
  numbers.erase(1);
  numbers.erase(2);
  const auto gpus = counted({0, 2, 3});
  EXPECT_THAT(numbers_of(with_gpus(numbers, gpus), gpus), ElementsAre(0, 1, 3));
}

TEST(Numbering, UsesTheDriversIndexOfAGpuWithoutAPciAddressWhereItIsFree) {
  std::vector<Gpu> gpus = counted({0, 1});
  for (Gpu& gpu : gpus) gpu.pci.reset();
  EXPECT_THAT(with_gpus({}, gpus), IsEmpty());
  EXPECT_THAT(numbers_of({}, gpus), ElementsAre(0, 1));
  gpus[0].uuid = GpuUuid("nvidia0");
  gpus[1].uuid = GpuUuid("nvidia1");
  EXPECT_THAT(numbers_of(kFour, gpus), ElementsAre(4, 5));
}

TEST(Numbering, KnowsABoundGpuByItsUuidWhereItsAddressIsNotKnown) {
  std::vector<Gpu> gpus = counted({0, 2});
  gpus[1].pci.reset();
  EXPECT_THAT(numbers_of(kFour, gpus), ElementsAre(0, 2));
}

TEST(Numbering, GivesTwoGpusOfOneSlotDifferentNumbers) {
  const std::vector<Gpu> gpus{card_in(1, 1, 1), card_in(9, 1, 1)};  // the first one is lost
  EXPECT_THAT(numbers_of(with_gpus(kFour, {gpus[1]}), gpus), ElementsAre(4, 1));
}

TEST(NumberChanges, WarnOfAnotherCardAndOfAnotherAddress) {
  const GpuNumbers after = with_gpus(kFour, {card_in(9, 1, 0), card_in(2, 7, 1)});
  const auto changes = changes_between(kFour, after);
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_TRUE(changes[0].is_warning);
  EXPECT_EQ(changes[0].number, 1U);
  EXPECT_EQ(changes[0].what,
            "another gpu is in the slot; it takes the slot's number, and the old gpu is no longer "
            "listed");
  EXPECT_EQ(changes[0].detail, "was GPU-1");
  EXPECT_TRUE(changes[1].is_warning);
  EXPECT_EQ(changes[1].number, 2U);
  EXPECT_EQ(changes[1].detail, "was at " + to_string(*a_gpu(2).pci));
}

TEST(NumberChanges, TellWhatIsBoundAndWhatIsForgotten) {
  GpuNumbers three = kFour;
  three.erase(3);
  ASSERT_THAT(changes_between(three, kFour), SizeIs(1));
  EXPECT_EQ(changes_between(three, kFour)[0].what, "gpu number bound to a PCI address");
  EXPECT_FALSE(changes_between(three, kFour)[0].is_warning);
  EXPECT_EQ(changes_between(kFour, three)[0].what, "gpu number forgotten");
  EXPECT_THAT(changes_between(kFour, with_gpus(kFour, counted({0, 2}))), IsEmpty());
}

}  // namespace
}  // namespace tranche::core
