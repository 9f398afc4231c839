// SPDX-License-Identifier: Apache-2.0
#include "core/mps/mps_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kGiB = 1ULL << 30;

Offer offer_of(const std::string& name, Enforcement enforcement,
               std::vector<OfferedDevice> devices) {
  return {.name = ResourceName(name),
          .devices = std::move(devices),
          .terms = {.enforcement = enforcement}};
}

Catalog two_gpus() {
  return {.offers = {offer_of("example.com/mem", Enforcement::kMps,
                              {{.uuid = "GPU-a", .gpu_index = 0, .memory_bytes = 80 * kGiB},
                               {.uuid = "GPU-b", .gpu_index = 3, .memory_bytes = 40 * kGiB}})}};
}

TEST(MpsPlan, HasADaemonForEachGpu) {
  const MpsPlan plan = plan_mps(two_gpus(), {.directory = "/run/x"}, {{"GPU-b", 10 * kGiB}});
  ASSERT_EQ(plan.daemons.size(), 2U);
  EXPECT_EQ(plan.daemons[0], (MpsDaemonPlan{.name = "GPU-a",
                                            .folder = "/run/x/GPU-a",
                                            .devices = {"GPU-a"},
                                            // No container holds a share of it: its full size.
                                            .limits = {80 * kGiB}}));
  EXPECT_EQ(plan.daemons[1].limits, (std::vector<std::optional<std::uint64_t>>{10 * kGiB}));
  EXPECT_EQ(plan.directory, "/run/x");
}

TEST(MpsPlan, LeavesOutWhatMpsDoesNotHold) {
  Catalog catalog = two_gpus();
  catalog.offers[0].terms.enforcement = Enforcement::kNone;
  EXPECT_THAT(plan_mps(catalog, {}, {}).daemons, IsEmpty());
  catalog.offers[0].terms.enforcement = Enforcement::kDriver;
  EXPECT_THAT(plan_mps(catalog, {}, {}).daemons, IsEmpty());
}

TEST(MpsPlan, HasADeviceOnceThoughTwoResourcesOfferIt) {
  Catalog catalog = two_gpus();
  catalog.offers.push_back(
      offer_of("example.com/z", Enforcement::kMpsExclusive, {{.uuid = "GPU-a"}}));
  const MpsPlan plan = plan_mps(catalog, {}, {});
  ASSERT_EQ(plan.daemons.size(), 2U);
  EXPECT_TRUE(plan.daemons[0].exclusive);
  EXPECT_FALSE(plan.daemons[1].exclusive);
}

TEST(MpsPlan, ServesAMigDeviceByItsOwnUuid) {
  const Catalog catalog{
      .offers = {offer_of("nvidia.com/mig", Enforcement::kMps,
                          {{.uuid = "MIG-1", .gpu = GpuUuid("GPU-a"), .mig_index = 0}})}};
  const MpsPlan plan = plan_mps(catalog, {}, {});
  ASSERT_EQ(plan.daemons.size(), 1U);
  EXPECT_THAT(plan.daemons[0].devices, ElementsAre("MIG-1"));
  // Its size is not known: no limit rather than a wrong one.
  EXPECT_EQ(plan.daemons[0].limits, std::vector<std::optional<std::uint64_t>>{std::nullopt});
}

TEST(MpsPlan, HasOneDaemonForTheNodeWhereThatIsChosen) {
  Catalog catalog = two_gpus();
  catalog.offers.push_back(
      offer_of("nvidia.com/mig", Enforcement::kMps, {{.uuid = "MIG-1", .mig_index = 0}}));
  const MpsPlan plan =
      plan_mps(catalog, {.daemons = MpsDaemons::kPerNode, .directory = "/run/x"}, {});
  ASSERT_EQ(plan.daemons.size(), 1U);
  EXPECT_EQ(plan.daemons[0].folder, "/run/x/node");
  EXPECT_THAT(plan.daemons[0].devices, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_EQ(wirings_of(plan.daemons[0], "").at("GPU-b").ordinal, std::nullopt);
  EXPECT_THAT(plan.refused.at("MIG-1"), HasSubstr("cannot serve MIG devices"));
}

TEST(MpsPlan, RefusesAFolderTooLongForASocket) {
  const MpsPlan plan = plan_mps(two_gpus(), {.directory = "/" + std::string(90, 'x')}, {});
  EXPECT_THAT(plan.daemons, IsEmpty());
  EXPECT_THAT(plan.refused, UnorderedElementsAre(Key("GPU-a"), Key("GPU-b")));
  EXPECT_THAT(plan.refused.at("GPU-a"), HasSubstr("give a shorter directory"));
}

TEST(MpsPlan, GivesAPipeOutsideOurCareAsItIs) {
  const MpsPlan plan =
      plan_mps(two_gpus(), {.daemons = MpsDaemons::kOutside, .pipe = "/tmp/nvidia-mps"}, {});
  EXPECT_THAT(plan.daemons, IsEmpty());
  EXPECT_EQ(plan.external.at("GPU-b").wiring,
            (MpsWiring{.pipe_directory = "/tmp/nvidia-mps",
                       .mounts = {{"/tmp/nvidia-mps", "/tmp/nvidia-mps", true}},
                       .ordinal = std::nullopt}));
  EXPECT_EQ(plan.external.at("GPU-b").pipe, "/tmp/nvidia-mps");
  EXPECT_THAT(plan.external.at("GPU-b").views,
              ElementsAre(ExternalMps::View{"/mps-outside", "/mps-outside/nvidia-mps"}));
  EXPECT_THAT(plan.external.at("GPU-b").ready_when, IsEmpty());
}

TEST(MpsPlan, KnowsWhereDaemonsOfOursWereWhenOthersTakeOver) {
  const auto directory = [](const MpsOptions& options) {
    return plan_mps(two_gpus(), options, {}).directory;
  };
  EXPECT_EQ(directory({.daemons = MpsDaemons::kNvidia, .directory = "/run/x"}), "/run/x");
  EXPECT_EQ(directory({.daemons = MpsDaemons::kOutside, .pipe = "/p", .directory = "/run/x"}),
            "/run/x");
  // External daemons in our folder.
  for (const char* pipe : {"/run/x/y/pipe", "/run//x/y", "/run/x/y/"}) {
    for (const char* ours : {"/run/x", "/run/x/", "/run/./x"}) {
      EXPECT_EQ(directory({.daemons = MpsDaemons::kOutside, .pipe = pipe, .directory = ours}), "")
          << pipe << " " << ours;
    }
  }
  EXPECT_EQ(directory({.daemons = MpsDaemons::kOutside, .pipe = "/run/xy", .directory = "/run/x"}),
            "/run/x");
}

TEST(MpsPlan, FollowsNvidiasLayout) {
  Catalog catalog = two_gpus();
  catalog.offers[0].name = ResourceName("nvidia.com/gpu");
  catalog.offers[0].devices[0].driver_index = 5;
  const MpsPlan plan = plan_mps(
      catalog, {.daemons = MpsDaemons::kNvidia, .nvidia_root = "/run/nvidia/mps"}, {}, "/mps");
  const ExternalMps& found = plan.external.at("GPU-a");
  EXPECT_EQ(found.wiring.ordinal, 5U) << "NVIDIA's daemon counts as the driver does";
  EXPECT_EQ(found.wiring.pipe_directory, "/mps/nvidia.com/gpu/pipe");
  EXPECT_TRUE(found.wiring.limits_are_the_daemons);
  EXPECT_THAT(found.wiring.mounts,
              ElementsAre(MpsWiring::Mount{"/mps/nvidia.com/gpu/pipe",
                                           "/run/nvidia/mps/nvidia.com/gpu/pipe", true},
                          MpsWiring::Mount{"/dev/shm", "/run/nvidia/mps/shm", false}));
  EXPECT_EQ(found.pipe, "/run/nvidia/mps/nvidia.com/gpu/pipe");
  EXPECT_THAT(found.views, ElementsAre(ExternalMps::View{"/mps", "/mps/nvidia.com/gpu/pipe"}));
  EXPECT_EQ(found.nvidia_root, "/run/nvidia/mps");
  EXPECT_THAT(found.ready_when,
              ElementsAre("/mps/.ready", "/mps/nvidia.com/gpu/.started", "/run/nvidia/mps/.ready",
                          "/run/nvidia/mps/nvidia.com/gpu/.started"));
}

TEST(MpsWirings, HaveSharedMemoryOnlyWhereAsked) {
  MpsDaemonPlan daemon{.name = "GPU-a", .folder = "/run/x/GPU-a", .devices = {"GPU-a"}};
  EXPECT_THAT(wirings_of(daemon, "").at("GPU-a").mounts,
              ElementsAre(MpsWiring::Mount{"/tmp/nvidia-mps", "/run/x/GPU-a/client", true}));
  daemon.shared_memory = true;
  EXPECT_THAT(wirings_of(daemon, "down").at("GPU-a").mounts,
              ElementsAre(MpsWiring::Mount{"/tmp/nvidia-mps", "/run/x/GPU-a/client", true},
                          MpsWiring::Mount{"/dev/shm", "/run/x/GPU-a/shm", false}));
  EXPECT_EQ(wirings_of(daemon, "down").at("GPU-a").problem, "down");
}

}  // namespace
}  // namespace tranche::core
