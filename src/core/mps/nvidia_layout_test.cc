// SPDX-License-Identifier: Apache-2.0
#include "core/mps/nvidia_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kGiB = 1ULL << 30;

Catalog shared_in(unsigned replicas) {
  return {
      .offers = {{.name = ResourceName("nvidia.com/gpu"),
                  .devices = {{.uuid = "GPU-a", .memory_bytes = 80 * kGiB, .replicas = replicas},
                              {.uuid = "GPU-b", .memory_bytes = 40 * kGiB, .replicas = replicas},
                              {.uuid = "MIG-1", .mig_index = 0, .replicas = replicas}}},
                 {.name = ResourceName("nvidia.com/whole"), .devices = {{.uuid = "GPU-c"}}}}};
}

TEST(NvidiaLayout, HasOneDaemonForAReplicatedResource) {
  const MpsPlan plan = plan_nvidia_layout(shared_in(8), "/mps");
  ASSERT_EQ(plan.daemons.size(), 1U);
  EXPECT_EQ(plan.daemons[0], (MpsDaemonPlan{.name = "nvidia.com/gpu",
                                            .folder = "/mps/nvidia.com/gpu",
                                            .devices = {"GPU-a", "GPU-b"},
                                            .limits = {10 * kGiB, 5 * kGiB},
                                            .thread_percentage = "12.5",
                                            .exclusive = true,
                                            .keep_pipe = true}));
}

TEST(NvidiaLayout, IsReadyWhenAllDaemonsAre) {
  const MpsPlan plan = plan_nvidia_layout(shared_in(2), "/mps");
  MpsReport report{.daemons = {{.plan = plan.daemons[0], .state = MpsState::kStarting}}};
  EXPECT_THAT(nvidia_markers(plan, report, "/mps").absent,
              ElementsAre("/mps/nvidia.com/gpu/.started", "/mps/.ready"));
  report.daemons[0].state = MpsState::kReady;
  EXPECT_THAT(nvidia_markers(plan, report, "/mps").present,
              ElementsAre("/mps/nvidia.com/gpu/.started", "/mps/.ready"));
  EXPECT_THAT(nvidia_markers({}, report, "/mps").absent, ElementsAre("/mps/.ready"));
}

TEST(NvidiaLayout, GivesSharedMemoryHalfOfTheNodes) {
  EXPECT_EQ(shm_options("MemTotal:       16384000 kB\nMemFree: 1 kB\n"), "size=8192000k");
  EXPECT_EQ(shm_options(""), "size=65536k");
  EXPECT_EQ(shm_options("MemTotal: lots kB\n"), "size=65536k");
}

}  // namespace
}  // namespace tranche::core
