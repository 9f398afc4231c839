// SPDX-License-Identifier: Apache-2.0
#include "apps/held_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Two GPUs of four units of 1 GiB.
Catalog memory(Rung rung) {
  const auto device = [](const char* uuid) {
    return OfferedDevice{
        .uuid = uuid, .gpu = GpuUuid(uuid), .replicas = 4, .share_bytes = 1ULL << 30};
  };
  return {.offers = {{.name = ResourceName("a.b/mem"),
                      .devices = {device("GPU-0"), device("GPU-1")},
                      .terms = {.form = ShareForm::kMemory, .rung = rung}}}};
}

const Ledger kThreeHold{.holdings = {
                            {"a.b/mem", {"", "", "u1", "c"}, {"GPU-0::0", "GPU-0::1"}},
                            {"a.b/mem", {"", "", "u2", "c"}, {"GPU-0::2"}},
                            {"a.b/other", {"", "", "u3", "c"}, {"GPU-1::0"}},
                        }};

TEST(Holders, AreContainersAndNotShares) {
  EXPECT_THAT(holders_of(memory(Rung::kMps), kThreeHold), ElementsAre(Pair("GPU-0", 2U)));
}

TEST(Holders, AreThoseThatGoThroughMps) {
  EXPECT_THAT(holders_of(memory(Rung::kNone), kThreeHold), IsEmpty());
}

TEST(LargestHeld, IsWhatOneContainerHas) {
  EXPECT_THAT(largest_held(memory(Rung::kMps), kThreeHold), ElementsAre(Pair("GPU-0", 2ULL << 30)));
}

}  // namespace
}  // namespace tranche
