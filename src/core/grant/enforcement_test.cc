// SPDX-License-Identifier: Apache-2.0
#include "grant/enforcement.h"

#include <gmock/gmock.h>

#include "gpu/testing/literals.h"
#include "grant/testing/shares.h"

namespace tranche {
namespace {

using testing::HasSubstr;

const Enforcers kOldDriver{.driver_version = "580.159.03"};
const Enforcers kNewDriver{.driver_version = "615.10", .driver_limits_memory = true};

// As nothing is started that nobody asked for.
const Enforcers kPipeOfOthers{.driver_version = "580.159.03", .mps_of_others = true};

Rung settled(const Offer& offer, const Enforcers& node) {
  const Result<Rung> rung = settle(offer, node);
  EXPECT_TRUE(rung) << (rung ? "" : rung.error().message);
  return rung ? *rung : Rung::kNone;
}

std::string unsettled(Rung demanded, const Enforcers& node, Offer offer = gib_units()) {
  offer.terms.demanded = demanded;
  const Result<Rung> rung = settle(offer, node);
  EXPECT_FALSE(rung);
  return rung ? "" : rung.error().message;
}

TEST(Settle, TakesTheBestThatIsThereWhereNothingIsDemanded) {
  EXPECT_EQ(settled(gib_units(), kOldDriver), Rung::kNone);
  EXPECT_EQ(settled(gib_units(), kPipeOfOthers), Rung::kMps);
  EXPECT_EQ(settled(gib_units(), kNewDriver), Rung::kDriver);
  Enforcers both = kNewDriver;
  both.mps_of_others = true;
  EXPECT_EQ(settled(gib_units(), both), Rung::kDriver);
  both.no_driver_hook = "the hook is disabled";
  EXPECT_EQ(settled(gib_units(), both), Rung::kMps);
}

TEST(Settle, TakesExactlyWhatIsDemanded) {
  Offer offer = gib_units();
  for (const Rung rung : {Rung::kNone, Rung::kMps, Rung::kMpsExclusive, Rung::kDriver}) {
    offer.terms.demanded = rung;
    EXPECT_EQ(settled(offer, kNewDriver), rung);
  }
}

TEST(Settle, RefusesADriverThatCannot) {
  EXPECT_EQ(unsettled(Rung::kDriver, kOldDriver),
            "enforcement driver is demanded of aliyun.com/gpu-mem, and this node cannot hold it: "
            "driver 580.159.03 has no nvmlDeviceSetMemoryLimits_v1; r615 or newer has");
  EXPECT_THAT(unsettled(Rung::kDriver, {}), HasSubstr("the driver has no nvmlDeviceSet"));
  Enforcers no_hook = kNewDriver;
  no_hook.no_driver_hook = "--cdi-disable-hooks leaves out apply-cuda-memory-limits";
  EXPECT_THAT(unsettled(Rung::kDriver, no_hook), HasSubstr("--cdi-disable-hooks"));
}

TEST(Settle, RefusesMpsWithItsReason) {
  Enforcers node = kOldDriver;
  node.no_mps = "there is no nvidia-cuda-mps-control below /driver-root";
  EXPECT_THAT(unsettled(Rung::kMps, node), HasSubstr("cannot hold it: there is no nvidia-cuda"));
  EXPECT_THAT(unsettled(Rung::kMpsExclusive, node), HasSubstr("there is no nvidia-cuda-mps"));
  node = kOldDriver;
  node.no_exclusive = "the daemons are not ours";
  EXPECT_THAT(unsettled(Rung::kMpsExclusive, node), HasSubstr("the daemons are not ours"));
}

TEST(Settle, KnowsWhatMigDevicesLack) {
  Offer offer = gib_units();
  offer.devices[1].mig_index = 0;
  EXPECT_THAT(unsettled(Rung::kDriver, kNewDriver, offer), HasSubstr("no such limits on MIG"));
  EXPECT_THAT(unsettled(Rung::kMpsExclusive, kOldDriver, offer), HasSubstr("no compute mode"));
  EXPECT_EQ(settled(offer, kNewDriver), Rung::kNone);
  EXPECT_EQ(settled(offer, kPipeOfOthers), Rung::kNone);
}

TEST(Settle, LeavesAloneWhatSaysNothingOfMemory) {
  Offer offer = gib_units();
  offer.terms.form = ShareForm::kReplicas;
  for (OfferedDevice& device : offer.devices) device.share_bytes = 0;
  EXPECT_EQ(settled(offer, kNewDriver), Rung::kNone);
  EXPECT_THAT(unsettled(Rung::kDriver, kNewDriver, offer), HasSubstr("do not say how much memory"));
}

TEST(Settle, LeavesNvidiasOwnResourcesAsTheyAre) {
  Offer offer =
      an_offer("nvidia.com/gpu", {a_shared_gpu(0, 4, 20 * kGiB)}, {.form = ShareForm::kReplicas});
  EXPECT_EQ(settled(offer, kNewDriver), Rung::kNone);
  EXPECT_EQ(settled(offer, kPipeOfOthers), Rung::kNone);
  // The same as a policy of ours is another matter.
  offer.devices[0].tag = "p1";
  EXPECT_EQ(settled(offer, kNewDriver), Rung::kDriver);
}

TEST(Settle, KnowsThatBareDeviceNodesComeWithoutAHook) {
  Offer offer = gib_units();
  offer.terms.dialect = Dialect::kDeepomatic;
  EXPECT_EQ(settled(offer, kNewDriver), Rung::kNone);
  EXPECT_THAT(unsettled(Rung::kDriver, kNewDriver, offer), HasSubstr("cdi-cri"));
  Enforcers by_cdi = kNewDriver;
  by_cdi.by_cdi = true;
  EXPECT_EQ(settled(offer, by_cdi), Rung::kDriver);
}

TEST(Enforcers, AreWhatDriverAndRuntimeHave) {
  Inventory node = a_node(1);
  EXPECT_EQ(enforcers(node, {}, {}), (Enforcers{.driver_version = "580.105.08"}));
  node.limits_memory = true;
  EXPECT_TRUE(enforcers(node, {}, {}).driver_limits_memory);
}

TEST(Enforcers, LackTheHookThatCdiSpecificationsLeaveOut) {
  const GrantOptions by_cdi{.list = {.cdi_cri = true}};
  EXPECT_EQ(enforcers(a_node(1), by_cdi, {"update-ldcache"}).no_driver_hook, "");
  for (const char* hook : {"all", "apply-cuda-memory-limits"}) {
    EXPECT_THAT(enforcers(a_node(1), by_cdi, {hook}).no_driver_hook,
                HasSubstr("--cdi-disable-hooks leaves out apply-cuda-memory-limits"));
    // With the variable it is NVIDIA's runtime that has hooks of its own.
    EXPECT_EQ(enforcers(a_node(1), {}, {hook}).no_driver_hook, "");
  }
}

TEST(Settle, LeavesWholeGpusAsTheyAreInAnyDialect) {
  OfferedDevice gpu = a_shared_gpu(0, 1, 140 * kGiB);
  gpu.replicas.reset();
  const Offer offer = an_offer("nvidia.com/gpu", {gpu}, {.dialect = Dialect::kGcp});
  EXPECT_EQ(settled(offer, kNewDriver), Rung::kNone);
  EXPECT_EQ(
      must_grant(offer, {"GPU-0"}, {.control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"}}).env,
      (std::map<std::string, std::string>{}));
}

TEST(DriversLimits, AreAskedForInMebibytesAndToldToTheContainer) {
  const ContainerGrant grant =
      must_grant(gib_units(Rung::kDriver), shares_of(0, 20), {.driver_limits_memory = true});
  EXPECT_EQ(grant.env.at("NVIDIA_GPU_MEMORY_REQUEST"), "20480");
  EXPECT_EQ(grant.env.at("NVIDIA_GPU_MEMORY_LIMIT"), "20480");
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_ENFORCEMENT"), "driver");
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_LIMIT_MIB"), "20480");
  EXPECT_FALSE(grant.env.contains("CUDA_MPS_PIPE_DIRECTORY"));
}

TEST(DriversLimits, AreTheSmallestOfGpusThatDiffer) {
  const Offer offer =
      an_offer("example.com/half", {a_shared_gpu(0, 2, 70 * kGiB), a_shared_gpu(1, 2, 40 * kGiB)},
               {.form = ShareForm::kReplicas, .demanded = Rung::kDriver, .rung = Rung::kDriver});
  EXPECT_EQ(must_grant(offer, {"GPU-0::0", "GPU-1::0"}, {.driver_limits_memory = true})
                .env.at("NVIDIA_GPU_MEMORY_LIMIT"),
            "40960");
}

TEST(DriversLimits, AreNotPromisedByADriverThatCannot) {
  const Error error = must_refuse(gib_units(Rung::kDriver), {"GPU-0::0"});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("r615 or newer"));
  Offer uncounted = gib_units(Rung::kDriver);
  for (OfferedDevice& device : uncounted.devices) device.share_bytes = 0;
  EXPECT_THAT(must_refuse(uncounted, {"GPU-0::0"}, {.driver_limits_memory = true}).message,
              HasSubstr("how much memory they are is not known"));
}

TEST(AContainer, IsToldThatNothingHoldsIt) {
  const ContainerGrant grant = must_grant(gib_units(), shares_of(0, 2));
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_ENFORCEMENT"), "none");
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_LIMIT_MIB"), "2048");
  EXPECT_FALSE(grant.env.contains("NVIDIA_GPU_MEMORY_LIMIT"));
}

TEST(AContainer, IsToldTheRungOfMps) {
  const NodeFacts node{.mps = {{"GPU-0", a_daemon(0)}}};
  for (const auto& [rung, word] :
       {std::pair{Rung::kMps, "mps"}, std::pair{Rung::kMpsExclusive, "mps-exclusive"}}) {
    const ContainerGrant grant = must_grant(gib_units(rung), {"GPU-0::0"}, node);
    EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_ENFORCEMENT"), word);
    EXPECT_TRUE(grant.env.contains("CUDA_MPS_PIPE_DIRECTORY"));
  }
}

TEST(AContainer, IsToldNothingWhereMemoryIsNotCounted) {
  const Offer offer = an_offer("example.com/slice", {a_shared_gpu(0, 4)},
                               {.form = ShareForm::kReplicas, .demanded = Rung::kNone});
  EXPECT_FALSE(must_grant(offer, {"GPU-0::0"}).env.contains("TRANCHE_MEMORY_ENFORCEMENT"));
}

// In a nested cluster that was granted a part of it.
TEST(PartOfAGpu, IsHeldAndToldOfLikeAnyShareThoughItIsOfferedWhole) {
  OfferedDevice part = a_shared_gpu(0, 1, 8 * kGiB);
  part.replicas.reset();
  part.partial = true;
  Offer offer = an_offer("nvidia.com/gpu", {part}, {});
  const Result<Rung> rung = settle(offer, {.driver_limits_memory = true});
  ASSERT_TRUE(rung);
  EXPECT_EQ(*rung, Rung::kDriver);
  const ContainerGrant grant = must_grant(offer, {"GPU-0"});
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_LIMIT_MIB"), "8192");
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_ENFORCEMENT"), "none");
}

}  // namespace
}  // namespace tranche
