// SPDX-License-Identifier: Apache-2.0
#include "core/mps/client_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MpsClientLimit, DependsOnDriverAndGpu) {
  EXPECT_EQ(mps_client_limit("13.0", 9), 48U);
  EXPECT_EQ(mps_client_limit("13.1", 9), 60U);
  EXPECT_EQ(mps_client_limit("14.0", 9), 60U);
  EXPECT_EQ(mps_client_limit("12.8", 7), 48U);  // Volta is not before Volta
  EXPECT_EQ(mps_client_limit("13.1", 6), 16U);
  EXPECT_EQ(mps_client_limit("", 0), 48U);
  EXPECT_EQ(mps_client_limit("nonsense", 8), 48U);
}

Catalog replicas(unsigned count, std::uint64_t share_bytes) {
  return {.offers = {{.name = ResourceName("nvidia.com/gpu"),
                      .devices = {{.uuid = "GPU-a",
                                   .gpu = GpuUuid("GPU-a"),
                                   .replicas = count,
                                   .share_bytes = share_bytes}},
                      .terms = {.form = ShareForm::kReplicas, .enforcement = Enforcement::kMps}}}};
}

TEST(MpsWarnings, AreGivenForMoreSharesThanClients) {
  const Inventory inventory{.cuda_version = "13.0",
                            .gpus = {{.uuid = GpuUuid("GPU-a"), .compute_major = 9}}};
  EXPECT_THAT(mps_warnings(replicas(48, 2ULL << 30), inventory, {}), IsEmpty());
  EXPECT_THAT(mps_warnings(replicas(49, 2ULL << 30), inventory, {}),
              ElementsAre(HasSubstr("is offered 49 times, and MPS takes 48 client processes")));
}

TEST(MpsWarnings, AreGivenForSharesThatAContextFills) {
  EXPECT_THAT(mps_warnings(replicas(10, 1ULL << 30), {}, {}), IsEmpty());
  EXPECT_THAT(mps_warnings(replicas(10, 800ULL << 20), {}, {}),
              ElementsAre(HasSubstr("is 800 MiB, and a CUDA context alone takes")));
  // Not counted is not small.
  EXPECT_THAT(mps_warnings(replicas(10, 0), {}, {}), IsEmpty());
}

TEST(MpsWarnings, AreGivenWhereAsManyContainersHoldMemoryAsThereMayBeClients) {
  Catalog catalog = replicas(80, 1ULL << 30);
  catalog.offers[0].terms.form = ShareForm::kMemory;
  EXPECT_THAT(mps_warnings(catalog, {}, {}), IsEmpty());
  EXPECT_THAT(mps_warnings(catalog, {}, {{"GPU-a", 47}}), IsEmpty());
  EXPECT_THAT(mps_warnings(catalog, {}, {{"GPU-a", 48}}),
              ElementsAre(HasSubstr("as many containers hold memory of GPU-a")));
}

TEST(ThreadPercentage, KeepsFractionsAndIsNeverZero) {
  EXPECT_EQ(nvidia_thread_percentage(1), "100");
  EXPECT_EQ(nvidia_thread_percentage(2), "50");
  EXPECT_EQ(nvidia_thread_percentage(3), "33.333");
  EXPECT_EQ(nvidia_thread_percentage(8), "12.5");
  EXPECT_EQ(nvidia_thread_percentage(48), "2.083");
  EXPECT_EQ(nvidia_thread_percentage(1000), "0.1");
  EXPECT_EQ(nvidia_thread_percentage(1'000'000), "0.001");
  EXPECT_EQ(nvidia_thread_percentage(0), "100");
}

}  // namespace
}  // namespace tranche::core
