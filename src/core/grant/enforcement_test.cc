// SPDX-License-Identifier: Apache-2.0
#include "core/grant/enforcement.h"

#include <gmock/gmock.h>

#include "core/gpu/testing/literals.h"
#include "core/grant/testing/shares.h"

namespace tranche::core {
namespace {

using testing::HasSubstr;

const Enforcers kOldDriver{.driver_version = "580.159.03"};
const Enforcers kNewDriver{.driver_version = "615.10", .driver_limits_memory = true};

// Without a demand, no MPS daemon is started.
const Enforcers kPipeOfOthers{.driver_version = "580.159.03", .external_mps = true};

Enforcement settled(const Offer& offer, const Enforcers& node) {
  const Result<Enforcement> enforcement = settle(offer, node);
  EXPECT_TRUE(enforcement) << (enforcement ? "" : enforcement.error().message);
  return enforcement ? *enforcement : Enforcement::kNone;
}

std::string unsettled(Enforcement demanded, const Enforcers& node, Offer offer = gib_units()) {
  offer.terms.demanded = demanded;
  const Result<Enforcement> enforcement = settle(offer, node);
  EXPECT_FALSE(enforcement);
  return enforcement ? "" : enforcement.error().message;
}

TEST(Settle, TakesTheBestThatIsThereWhereNothingIsDemanded) {
  EXPECT_EQ(settled(gib_units(), kOldDriver), Enforcement::kNone);
  EXPECT_EQ(settled(gib_units(), kPipeOfOthers), Enforcement::kMps);
  EXPECT_EQ(settled(gib_units(), kNewDriver), Enforcement::kDriver);
  Enforcers both = kNewDriver;
  both.external_mps = true;
  EXPECT_EQ(settled(gib_units(), both), Enforcement::kDriver);
  both.no_driver_hook = "the hook is disabled";
  EXPECT_EQ(settled(gib_units(), both), Enforcement::kMps);
}

TEST(Settle, TakesExactlyWhatIsDemanded) {
  Offer offer = gib_units();
  for (const Enforcement enforcement :
       {Enforcement::kNone, Enforcement::kMps, Enforcement::kMpsExclusive, Enforcement::kDriver}) {
    offer.terms.demanded = enforcement;
    EXPECT_EQ(settled(offer, kNewDriver), enforcement);
  }
}

TEST(Settle, RefusesADriverThatCannot) {
  EXPECT_EQ(
      unsettled(Enforcement::kDriver, kOldDriver),
      "enforcement driver is demanded of aliyun.com/gpu-mem, and this node does not support it: "
      "driver 580.159.03 has no nvmlDeviceSetMemoryLimits_v1; r615 or newer has");
  EXPECT_THAT(unsettled(Enforcement::kDriver, {}), HasSubstr("the driver has no nvmlDeviceSet"));
  Enforcers no_hook = kNewDriver;
  no_hook.no_driver_hook = "--cdi-disable-hooks leaves out apply-cuda-memory-limits";
  EXPECT_THAT(unsettled(Enforcement::kDriver, no_hook), HasSubstr("--cdi-disable-hooks"));
}

TEST(Settle, BlamesNoDriverThatHasNotAnswered) {
  Enforcers node = kOldDriver;
  node.limits_unknown = "nvmlDeviceGetMemoryLimits_v1 did not return";
  EXPECT_THAT(unsettled(Enforcement::kDriver, node),
              HasSubstr("it is not known whether driver 580.159.03 limits memory: "
                        "nvmlDeviceGetMemoryLimits_v1 did not return; it is asked again"));
  node.driver_limits_memory = true;  // as it was known before
  EXPECT_EQ(settled(gib_units(), node), Enforcement::kDriver);
}

TEST(Settle, RefusesMpsWithItsReason) {
  Enforcers node = kOldDriver;
  node.no_mps = "there is no nvidia-cuda-mps-control below /driver-root";
  EXPECT_THAT(unsettled(Enforcement::kMps, node),
              HasSubstr("does not support it: there is no nvidia-cuda"));
  EXPECT_THAT(unsettled(Enforcement::kMpsExclusive, node),
              HasSubstr("there is no nvidia-cuda-mps"));
  node = kOldDriver;
  node.no_exclusive = "the daemons are not ours";
  EXPECT_THAT(unsettled(Enforcement::kMpsExclusive, node), HasSubstr("the daemons are not ours"));
}

TEST(Settle, KnowsWhatMigDevicesLack) {
  Offer offer = gib_units();
  offer.devices[1].mig_index = 0;
  EXPECT_THAT(unsettled(Enforcement::kDriver, kNewDriver, offer),
              HasSubstr("no such limits on MIG"));
  EXPECT_THAT(unsettled(Enforcement::kMpsExclusive, kOldDriver, offer),
              HasSubstr("no compute mode"));
  EXPECT_EQ(settled(offer, kNewDriver), Enforcement::kNone);
  EXPECT_EQ(settled(offer, kPipeOfOthers), Enforcement::kNone);
}

TEST(Settle, LeavesAloneWhatSaysNothingOfMemory) {
  Offer offer = gib_units();
  offer.terms.form = ShareForm::kReplicas;
  for (OfferedDevice& device : offer.devices) device.share_bytes = 0;
  EXPECT_EQ(settled(offer, kNewDriver), Enforcement::kNone);
  EXPECT_THAT(unsettled(Enforcement::kDriver, kNewDriver, offer), HasSubstr("have no memory size"));
}

TEST(Settle, LeavesNvidiasOwnResourcesAsTheyAre) {
  Offer offer =
      an_offer("nvidia.com/gpu", {a_shared_gpu(0, 4, 20 * kGiB)}, {.form = ShareForm::kReplicas});
  EXPECT_EQ(settled(offer, kNewDriver), Enforcement::kNone);
  EXPECT_EQ(settled(offer, kPipeOfOthers), Enforcement::kNone);
  // A policy may demand a limit nevertheless.
  offer.devices[0].tag = "p1";
  EXPECT_EQ(settled(offer, kNewDriver), Enforcement::kDriver);
}

TEST(Settle, KnowsThatBareDeviceNodesComeWithoutAHook) {
  Offer offer = gib_units();
  offer.terms.dialect = Dialect::kDeepomatic;
  EXPECT_EQ(settled(offer, kNewDriver), Enforcement::kNone);
  EXPECT_THAT(unsettled(Enforcement::kDriver, kNewDriver, offer), HasSubstr("cdi-cri"));
  Enforcers by_cdi = kNewDriver;
  by_cdi.by_cdi = true;
  EXPECT_EQ(settled(offer, by_cdi), Enforcement::kDriver);
}

TEST(Enforcers, AreWhatDriverAndRuntimeHave) {
  Inventory node = a_node(1);
  EXPECT_EQ(enforcers(node, {}, {}), (Enforcers{.driver_version = "580.105.08"}));
  node.limits_memory = true;
  EXPECT_TRUE(enforcers(node, {}, {}).driver_limits_memory);
  node.limits_unknown = "it did not return";
  EXPECT_EQ(enforcers(node, {}, {}).limits_unknown, "it did not return");
}

TEST(Enforcers, LackTheHookThatCdiSpecificationsLeaveOut) {
  const GrantOptions by_cdi{.list = {.cdi_cri = true}};
  EXPECT_EQ(enforcers(a_node(1), by_cdi, {"update-ldcache"}).no_driver_hook, "");
  for (const char* hook : {"all", "apply-cuda-memory-limits"}) {
    EXPECT_THAT(enforcers(a_node(1), by_cdi, {hook}).no_driver_hook,
                HasSubstr("--cdi-disable-hooks leaves out apply-cuda-memory-limits"));
    // NVIDIA's runtime, which serves the variable, has its own hooks.
    EXPECT_EQ(enforcers(a_node(1), {}, {hook}).no_driver_hook, "");
  }
}

TEST(Settle, LeavesWholeGpusAsTheyAreInAnyDialect) {
  OfferedDevice gpu = a_shared_gpu(0, 1, 140 * kGiB);
  gpu.replicas.reset();
  const Offer offer = an_offer("nvidia.com/gpu", {gpu}, {.dialect = Dialect::kGcp});
  EXPECT_EQ(settled(offer, kNewDriver), Enforcement::kNone);
  EXPECT_EQ(
      must_grant(offer, {"GPU-0"}, {.control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"}}).env,
      (std::map<std::string, std::string>{}));
}

TEST(UnheldMemory, IsThatOfAnOfferWithoutADemandAndWithoutAnyMeans) {
  EXPECT_THAT(unenforced_memory(gib_units(), Enforcement::kNone, kOldDriver),
              HasSubstr("aliyun.com/gpu-mem: nothing limits containers to their share of memory: "
                        "driver 580.159.03 has no nvmlDeviceSetMemoryLimits_v1"));
  EXPECT_EQ(unenforced_memory(gib_units(), Enforcement::kMps, kPipeOfOthers), "");
  Offer offer = gib_units();
  offer.terms.demanded = Enforcement::kNone;
  EXPECT_EQ(unenforced_memory(offer, Enforcement::kNone, kOldDriver), "");
  offer = gib_units();
  offer.terms.form = ShareForm::kReplicas;
  EXPECT_EQ(unenforced_memory(offer, Enforcement::kNone, kOldDriver), "");
  Enforcers node = kOldDriver;
  node.no_mps = "there is no nvidia-cuda-mps-control";
  EXPECT_THAT(unenforced_memory(gib_units(), Enforcement::kNone, node),
              HasSubstr("no nvidia-cuda-mps"));
}

TEST(DriversLimits, AreAskedForInMebibytesAndToldToTheContainer) {
  const ContainerGrant grant =
      must_grant(gib_units(Enforcement::kDriver), shares_of(0, 20), {.driver_limits_memory = true});
  EXPECT_EQ(grant.env.at("NVIDIA_GPU_MEMORY_REQUEST"), "20480");
  EXPECT_EQ(grant.env.at("NVIDIA_GPU_MEMORY_LIMIT"), "20480");
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_ENFORCEMENT"), "driver");
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_LIMIT_MIB"), "20480");
  EXPECT_FALSE(grant.env.contains("CUDA_MPS_PIPE_DIRECTORY"));
}

TEST(DriversLimits, AreTheSmallestOfGpusThatDiffer) {
  const Offer offer =
      an_offer("example.com/half", {a_shared_gpu(0, 2, 70 * kGiB), a_shared_gpu(1, 2, 40 * kGiB)},
               {.form = ShareForm::kReplicas,
                .demanded = Enforcement::kDriver,
                .enforcement = Enforcement::kDriver});
  EXPECT_EQ(must_grant(offer, {"GPU-0::0", "GPU-1::0"}, {.driver_limits_memory = true})
                .env.at("NVIDIA_GPU_MEMORY_LIMIT"),
            "40960");
}

TEST(DriversLimits, AreNotPromisedByADriverThatCannot) {
  const Error error = must_refuse(gib_units(Enforcement::kDriver), {"GPU-0::0"});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("r615 or newer"));
  Offer uncounted = gib_units(Enforcement::kDriver);
  for (OfferedDevice& device : uncounted.devices) device.share_bytes = 0;
  EXPECT_THAT(must_refuse(uncounted, {"GPU-0::0"}, {.driver_limits_memory = true}).message,
              HasSubstr("their memory size is not known"));
}

TEST(AContainer, IsToldThatNothingHoldsIt) {
  const ContainerGrant grant = must_grant(gib_units(), shares_of(0, 2));
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_ENFORCEMENT"), "none");
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_LIMIT_MIB"), "2048");
  EXPECT_FALSE(grant.env.contains("NVIDIA_GPU_MEMORY_LIMIT"));
}

TEST(AContainer, IsToldTheRungOfMps) {
  const NodeFacts node{.mps = {{"GPU-0", a_daemon(0)}}};
  for (const auto& [enforcement, word] : {std::pair{Enforcement::kMps, "mps"},
                                          std::pair{Enforcement::kMpsExclusive, "mps-exclusive"}}) {
    const ContainerGrant grant = must_grant(gib_units(enforcement), {"GPU-0::0"}, node);
    EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_ENFORCEMENT"), word);
    EXPECT_TRUE(grant.env.contains("CUDA_MPS_PIPE_DIRECTORY"));
  }
}

TEST(AContainer, IsToldNothingWhereMemoryIsNotCounted) {
  const Offer offer = an_offer("example.com/slice", {a_shared_gpu(0, 4)},
                               {.form = ShareForm::kReplicas, .demanded = Enforcement::kNone});
  EXPECT_FALSE(must_grant(offer, {"GPU-0::0"}).env.contains("TRANCHE_MEMORY_ENFORCEMENT"));
}

// A nested cluster that was granted a part of the GPU.
TEST(PartOfAGpu, IsHeldAndToldOfLikeAnyShareThoughItIsOfferedWhole) {
  OfferedDevice part = a_shared_gpu(0, 1, 8 * kGiB);
  part.replicas.reset();
  part.partial = true;
  Offer offer = an_offer("nvidia.com/gpu", {part}, {});
  const Result<Enforcement> enforcement = settle(offer, {.driver_limits_memory = true});
  ASSERT_TRUE(enforcement);
  EXPECT_EQ(*enforcement, Enforcement::kDriver);
  const ContainerGrant grant = must_grant(offer, {"GPU-0"});
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_LIMIT_MIB"), "8192");
  EXPECT_EQ(grant.env.at("TRANCHE_MEMORY_ENFORCEMENT"), "none");
}

}  // namespace
}  // namespace tranche::core
