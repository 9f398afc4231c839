// SPDX-License-Identifier: Apache-2.0
#include "core/gpu/mig_profile.h"

#include <gtest/gtest.h>

namespace tranche::core {
namespace {

constexpr std::uint64_t kMib = 1ULL << 20;

TEST(MigProfile, IsNamedAsNvidiaNamesIt) {
  EXPECT_EQ(to_string(MigProfile{1, 1, 5, ""}), "1g.5gb");
  EXPECT_EQ(to_string(MigProfile{1, 1, 5, "+me"}), "1g.5gb+me");
  EXPECT_EQ(to_string(MigProfile{1, 3, 20, ""}), "1c.3g.20gb");
  EXPECT_EQ(to_string(MigProfile{2, 2, 48, "-me"}), "2g.48gb-me");
}

TEST(MigProfile, IsReadBackFromItsName) {
  for (const MigProfile& profile : {MigProfile{1, 1, 5, ""}, MigProfile{1, 3, 20, ""},
                                    MigProfile{1, 1, 24, "+me.all"}, MigProfile{2, 2, 48, "-me"}}) {
    EXPECT_EQ(parse_mig_profile(to_string(profile)), profile) << to_string(profile);
  }
  for (const char* bad : {"", "1g", "g.5gb", "1g.gb", "-1g.5gb", "c.1g.5gb"}) {
    EXPECT_EQ(parse_mig_profile(bad), std::nullopt) << bad;
  }
}

TEST(MigProfile, HasADotForThePlusInResourceNames) {
  EXPECT_EQ(resource_form(MigProfile{1, 1, 5, "+me"}), "1g.5gb.me");
  EXPECT_EQ(resource_form(MigProfile{1, 1, 24, "+me.all"}), "1g.24gb.me.all");
  EXPECT_EQ(resource_form(MigProfile{1, 1, 24, "-me"}), "1g.24gb-me");
  EXPECT_EQ(resource_form(MigProfile{4, 4, 96, "+gfx"}), "4g.96gb.gfx");
}

struct Sizes {
  const char* model;
  std::uint64_t gpu_mib;
  std::uint64_t slice_mib;
  unsigned gb;
};

TEST(MigMemoryGb, GivesTheNumbersOfTheVendorsTables) {
  for (const Sizes& row : {Sizes{"A100-40 1g", 40960, 4864, 5},
                           {"A100-40 1g double", 40960, 9856, 10},
                           {"A100-40 3g", 40960, 19968, 20},
                           {"A100-40 7g", 40960, 40192, 40},
                           {"A100-80 1g", 81920, 9728, 10},
                           {"A30 1g", 24576, 5952, 6},
                           {"A30 4g", 24576, 24000, 24},
                           {"H100 1g", 81559, 9984, 10},
                           {"H100 7g", 81559, 81152, 80},
                           {"H200 1g", 143771, 16384, 18},
                           {"H200 2g", 143771, 33280, 35},
                           {"H200 3g", 143771, 71424, 71},
                           {"H200 7g", 143771, 143360, 141}}) {
    EXPECT_EQ(mig_memory_gb(row.slice_mib, row.gpu_mib * kMib), row.gb) << row.model;
  }
}

TEST(MigMemoryGb, IsZeroWhereTheGpusMemoryIsNotKnown) { EXPECT_EQ(mig_memory_gb(4864, 0), 0U); }

}  // namespace
}  // namespace tranche::core
