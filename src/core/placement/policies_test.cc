// SPDX-License-Identifier: Apache-2.0
//
// Compares the placements with the best possible one, found by trying everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "core/gpu/testing/literals.h"
#include "core/placement/prefer.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

using Ids = std::vector<std::string>;
using Counts = std::vector<unsigned>;  // a number for each GPU

// GPUs with so many shares each.
Offer shares_on(const Counts& totals, const Terms& terms) {
  Offer offer{.name = ResourceName("example.com/share"), .terms = terms};
  for (unsigned i = 0; i < totals.size(); ++i) {
    offer.devices.push_back({.uuid = "GPU-" + std::to_string(i),
                             .gpu = GpuUuid("GPU-" + std::to_string(i)),
                             .gpu_index = i,
                             .replicas = totals[i],
                             .tag = "tagg"});
  }
  return offer;
}

// What a container that requests `size` gets of each GPU.
Counts choose(const Offer& offer, const Counts& free, std::size_t size, std::mt19937& random) {
  Ids available;
  for (unsigned gpu = 0; gpu < free.size(); ++gpu) {
    const unsigned total = *offer.devices[gpu].replicas;
    for (unsigned i = total - free[gpu]; i < total; ++i) {
      available.push_back(share_id(offer.devices[gpu].uuid, "tagg", i));
    }
  }
  std::shuffle(available.begin(), available.end(), random);
  const AllocationRequest request{{available.begin(), available.end()}, {}, size};
  Counts got(free.size());
  std::vector<std::string_view> chosen = prefer(offer, empty_room(offer), {}, request);
  std::ranges::sort(chosen);
  EXPECT_TRUE(std::ranges::adjacent_find(chosen) == chosen.end()) << "a share twice";
  for (const std::string_view id : chosen) {
    ++got[static_cast<std::size_t>(offer.find(id) - offer.devices.data())];
  }
  return got;
}

// Every way to take `size` of what is free.
void every_way(const Counts& free, std::size_t size, Counts& so_far, std::vector<Counts>& found) {
  if (so_far.size() == free.size()) {
    if (size == 0) found.push_back(so_far);
    return;
  }
  const unsigned most = std::min<unsigned>(free[so_far.size()], static_cast<unsigned>(size));
  for (unsigned take = 0; take <= most; ++take) {
    so_far.push_back(take);
    every_way(free, size - take, so_far, found);
    so_far.pop_back();
  }
}

std::vector<Counts> every_way(const Counts& free, std::size_t size) {
  std::vector<Counts> found;
  Counts so_far;
  every_way(free, size, so_far, found);
  return found;
}

unsigned gpus_used(const Counts& taken) {
  return static_cast<unsigned>(std::ranges::count_if(taken, [](unsigned n) { return n > 0; }));
}

// The same trial for every small case; `worse` says whether a is worse than b.
template <typename Worse>
void expect_best(const Terms& terms, Worse worse) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t gpus = 1 + random() % 4;
    Counts totals(gpus);
    Counts free(gpus);
    for (std::size_t i = 0; i < gpus; ++i) {
      totals[i] = 1 + static_cast<unsigned>(random() % 5);
      free[i] = static_cast<unsigned>(random() % (totals[i] + 1));
    }
    const std::size_t sum = std::accumulate(free.begin(), free.end(), std::size_t{0});
    if (sum == 0) continue;
    const std::size_t size = 1 + random() % sum;
    const Counts got = choose(shares_on(totals, terms), free, size, random);
    for (const Counts& other : every_way(free, size)) {
      ASSERT_FALSE(worse(got, other, free, totals))
          << "free " << testing::PrintToString(free) << " of " << testing::PrintToString(totals)
          << ", asked " << size << ": chose " << testing::PrintToString(got) << " and not "
          << testing::PrintToString(other);
    }
  }
}

TEST(SpreadPlacement, UsesAsManyGpusAsThereAre) {
  expect_best({.form = ShareForm::kReplicas, .placement = SharePlacement::kSpread},
              [](const Counts& got, const Counts& other, const Counts&, const Counts&) {
                return gpus_used(got) < gpus_used(other);
              });
}

TEST(SpreadPlacement, TakesTheLeastUsedGpuForASingleShare) {
  std::mt19937 random(5);
  const Offer offer =
      shares_on({4, 4, 4}, {.form = ShareForm::kReplicas, .placement = SharePlacement::kSpread});
  EXPECT_EQ(choose(offer, {1, 3, 2}, 1, random), (Counts{0, 1, 0}));
  EXPECT_EQ(choose(offer, {1, 3, 2}, 2, random), (Counts{0, 1, 1}));
  EXPECT_EQ(choose(offer, {1, 3, 2}, 4, random), (Counts{1, 2, 1}));
}

TEST(PackPlacement, UsesAsFewGpusAsWillDo) {
  expect_best({.form = ShareForm::kReplicas, .placement = SharePlacement::kPack},
              [](const Counts& got, const Counts& other, const Counts&, const Counts&) {
                return gpus_used(got) > gpus_used(other);
              });
}

TEST(PackPlacement, TakesTheFullestGpuWhereOneIsEnough) {
  std::mt19937 random(5);
  const Offer offer =
      shares_on({4, 4, 4}, {.form = ShareForm::kReplicas, .placement = SharePlacement::kPack});
  EXPECT_EQ(choose(offer, {4, 1, 2}, 1, random), (Counts{0, 1, 0}));
  EXPECT_EQ(choose(offer, {4, 1, 2}, 2, random), (Counts{0, 0, 2}));
  EXPECT_EQ(choose(offer, {4, 1, 2}, 5, random), (Counts{4, 1, 0}));
}

TEST(PackPlacement, GivesDifferentGpusWhereTheyAreDemanded) {
  std::mt19937 random(5);
  const Offer offer = shares_on(
      {4, 4, 4},
      {.form = ShareForm::kReplicas, .placement = SharePlacement::kPack, .distinct_gpus = true});
  EXPECT_EQ(choose(offer, {4, 1, 2}, 2, random), (Counts{0, 1, 1}));
}

// The largest request that stays possible, after this one.
unsigned largest_left(const Counts& got, const Counts& free) {
  unsigned largest = 0;
  for (std::size_t i = 0; i < free.size(); ++i) largest = std::max(largest, free[i] - got[i]);
  return largest;
}

bool on_one_gpu(const Counts& counts) { return gpus_used(counts) == 1; }

TEST(MemoryPlacement, KeepsTheLargestRequestPossible) {
  expect_best({.form = ShareForm::kMemory, .placement = SharePlacement::kPack, .one_device = true},
              [](const Counts& got, const Counts& other, const Counts& free, const Counts&) {
                if (!on_one_gpu(other)) return false;
                return !on_one_gpu(got) || largest_left(got, free) < largest_left(other, free);
              });
}

TEST(MemoryPlacement, TakesTheTightestGpuWhereItFits) {
  std::mt19937 random(5);
  const Offer offer = shares_on(
      {20, 20, 20},
      {.form = ShareForm::kMemory, .placement = SharePlacement::kPack, .one_device = true});
  EXPECT_EQ(choose(offer, {20, 7, 12}, 7, random), (Counts{0, 7, 0}));
  EXPECT_EQ(choose(offer, {20, 7, 12}, 8, random), (Counts{0, 0, 8}));
  EXPECT_EQ(choose(offer, {20, 7, 12}, 13, random), (Counts{13, 0, 0}));
}

TEST(MemoryPlacement, TakesTheEmptiestGpuWhereItIsToSpread) {
  std::mt19937 random(5);
  const Offer offer = shares_on(
      {20, 20, 20},
      {.form = ShareForm::kMemory, .placement = SharePlacement::kSpread, .one_device = true});
  EXPECT_EQ(choose(offer, {15, 7, 12}, 7, random), (Counts{7, 0, 0}));
}

TEST(MemoryPlacement, StaysWhereTheContainerIsAlready) {
  const Offer offer = shares_on(
      {4, 4}, {.form = ShareForm::kMemory, .placement = SharePlacement::kPack, .one_device = true});
  const Ids available{"GPU-0::tagg-0", "GPU-0::tagg-1", "GPU-1::tagg-0",
                      "GPU-1::tagg-1", "GPU-1::tagg-2", "GPU-1::tagg-3"};
  const AllocationRequest request{{available.begin(), available.end()}, {"GPU-1::tagg-3"}, 3};
  EXPECT_THAT(prefer(offer, empty_room(offer), {}, request),
              testing::ElementsAre("GPU-1::tagg-3", "GPU-1::tagg-0", "GPU-1::tagg-1"));
}

// The kubelet's view of free shares lags behind other resources' allocations.
TEST(Placement, TakesNoMoreThanOtherNamesLeave) {
  Offer offer = shares_on({4, 4}, {.form = ShareForm::kReplicas});
  const Ids available{"GPU-0::tagg-0", "GPU-0::tagg-1", "GPU-0::tagg-2", "GPU-1::tagg-0"};
  const AllocationRequest request{{available.begin(), available.end()}, {}, 2};
  const OfferRoom room{{{}, 1}, {{}, 4}};
  for (const SharePlacement placement :
       {SharePlacement::kPack, SharePlacement::kPacked, SharePlacement::kSpread}) {
    offer.terms.placement = placement;
    EXPECT_THAT(prefer(offer, room, {}, request),
                testing::UnorderedElementsAre("GPU-0::tagg-0", "GPU-1::tagg-0"));
  }
}

}  // namespace
}  // namespace tranche::core
