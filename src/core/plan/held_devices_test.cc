// SPDX-License-Identifier: Apache-2.0
#include "core/plan/held_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Two GPUs of four units of 1 GiB.
Catalog memory(Enforcement enforcement) {
  const auto device = [](const char* uuid) {
    return OfferedDevice{
        .uuid = uuid, .gpu = GpuUuid(uuid), .replicas = 4, .share_bytes = 1ULL << 30};
  };
  return {.offers = {{.name = ResourceName("a.b/mem"),
                      .devices = {device("GPU-0"), device("GPU-1")},
                      .terms = {.form = ShareForm::kMemory, .enforcement = enforcement}}}};
}

const Ledger kThreeHold{.holdings = {
                            {"a.b/mem", {"", "", "u1", "c"}, {"GPU-0::0", "GPU-0::1"}},
                            {"a.b/mem", {"", "", "u2", "c"}, {"GPU-0::2"}},
                            {"a.b/other", {"", "", "u3", "c"}, {"GPU-1::0"}},
                        }};

TEST(Holders, AreContainersAndNotShares) {
  EXPECT_THAT(holders_of(memory(Enforcement::kMps), kThreeHold), ElementsAre(Pair("GPU-0", 2U)));
}

TEST(Holders, AreThoseThatGoThroughMps) {
  EXPECT_THAT(holders_of(memory(Enforcement::kNone), kThreeHold), IsEmpty());
}

TEST(ADaemon, IsUnheldWhereNobodyHoldsAnythingOfItsDevices) {
  const Ledger two{.holdings = {kThreeHold.holdings[0], kThreeHold.holdings[1]}};
  EXPECT_FALSE(is_unheld({"GPU-0"}, memory(Enforcement::kMps), two));
  EXPECT_TRUE(is_unheld({"GPU-1"}, memory(Enforcement::kMps), two));
  EXPECT_FALSE(is_unheld({"GPU-0", "GPU-1"}, memory(Enforcement::kMps), two));
  // Of a resource that is no longer offered: the device is not known.
  EXPECT_FALSE(is_unheld({"GPU-1"}, memory(Enforcement::kMps), kThreeHold));
  EXPECT_TRUE(is_unheld({"GPU-1"}, memory(Enforcement::kMps), {}));
}

TEST(LargestHeld, IsWhatOneContainerHas) {
  EXPECT_THAT(largest_held(memory(Enforcement::kMps), kThreeHold),
              ElementsAre(Pair("GPU-0", 2ULL << 30)));
}

}  // namespace
}  // namespace tranche::core
