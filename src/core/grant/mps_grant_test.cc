// SPDX-License-Identifier: Apache-2.0
#include "core/grant/mps_grant.h"

#include <gmock/gmock.h>

#include "core/grant/testing/shares.h"

namespace tranche::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

NodeFacts daemons() { return {.mps = {{"GPU-0", a_daemon(0)}, {"GPU-1", a_daemon(1)}}}; }

Offer replicas() {
  return an_offer("example.com/slice",
                  {a_shared_gpu(0, 3, 40 * kGiB), a_shared_gpu(1, 10, 8 * kGiB)},
                  {.form = ShareForm::kReplicas,
                   .demanded = Enforcement::kMps,
                   .enforcement = Enforcement::kMps});
}

TEST(ThreadPercentage, KeepsOneDecimalAndRoundsDown) {
  EXPECT_EQ(thread_percentage(1, 2), "50");
  EXPECT_EQ(thread_percentage(1, 3), "33.3");
  EXPECT_EQ(thread_percentage(2, 3), "66.6");
  EXPECT_EQ(thread_percentage(1, 8), "12.5");
  EXPECT_EQ(thread_percentage(140, 140), "100");
}

TEST(ThreadPercentage, IsNeverNoneOfTheGpu) {
  EXPECT_EQ(thread_percentage(1, 1000), "0.1");
  EXPECT_EQ(thread_percentage(1, 143771), "0.1");
  EXPECT_EQ(thread_percentage(1, 4000000000U), "0.1");
}

TEST(Mps, SendsAContainerToItsGpusDaemonWithTheLimitsOfItsShare) {
  const ContainerGrant grant =
      must_grant(gib_units(Enforcement::kMps), shares_of(1, 20), daemons());
  EXPECT_EQ(grant.env.at("CUDA_MPS_PIPE_DIRECTORY"), "/run/mps");
  EXPECT_EQ(grant.env.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "25");
  EXPECT_EQ(grant.env.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=20480M");
  EXPECT_THAT(grant.mounts, ElementsAre(GrantedMount{"/run/mps/control",
                                                     "/run/tranche/mps/1/pipe/control", true}));
}

TEST(Mps, AddsUpTheSharesOfOneReplicatedGpu) {
  const ContainerGrant grant = must_grant(replicas(), {"GPU-0::0", "GPU-0::2"}, daemons());
  EXPECT_EQ(grant.env.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "66.6");
  EXPECT_EQ(grant.env.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=81920M");
}

TEST(Mps, NamesTheDeviceByUuidWhereNobodyKnowsHowTheDaemonCounts) {
  NodeFacts node = daemons();
  node.mps["GPU-1"].ordinal.reset();
  EXPECT_EQ(must_grant(gib_units(Enforcement::kMps), {"GPU-1::0"}, node)
                .env.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"),
            "GPU-1=1024M");
}

TEST(Mps, WarnsOfUnitsThatAContextFills) {
  Offer offer = gib_units(Enforcement::kMps);
  EXPECT_THAT(must_grant(offer, {"GPU-1::0"}, daemons()).warnings, testing::IsEmpty());
  for (OfferedDevice& device : offer.devices) device.share_bytes = 256ULL << 20;
  EXPECT_THAT(must_grant(offer, {"GPU-1::0", "GPU-1::1"}, daemons()).warnings,
              ElementsAre(HasSubstr("512 MiB of GPU 1 (GPU-1) are requested")));
}

TEST(Mps, SetsNoMemoryLimitWhereMemoryIsNotCounted) {
  Offer offer = replicas();
  for (OfferedDevice& device : offer.devices) device.share_bytes = 0;
  const ContainerGrant grant = must_grant(offer, {"GPU-0::0"}, daemons());
  EXPECT_EQ(grant.env.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "33.3");
  EXPECT_FALSE(grant.env.contains("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
}

TEST(Mps, RefusesTwoDaemonsForOneContainer) {
  const Error error = must_refuse(replicas(), {"GPU-0::0", "GPU-1::0"}, daemons());
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, AllOf(HasSubstr("GPU 0 (GPU-0) and GPU 1 (GPU-1) have an MPS daemon "
                                             "each, and a container can use only one"),
                                   HasSubstr("run one daemon for the node")));
}

TEST(Mps, LimitsEachGpuOfADaemonThatServesTheNode) {
  NodeFacts node{.mps = {{"GPU-0", a_daemon(0)}, {"GPU-1", a_daemon(0)}}};
  node.mps["GPU-1"].ordinal = 1;
  const ContainerGrant grant = must_grant(replicas(), {"GPU-0::0", "GPU-1::0", "GPU-1::1"}, node);
  EXPECT_EQ(grant.env.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=40960M,1=16384M");
  // A third of one GPU and a fifth of the other: the smaller part counts for both.
  EXPECT_EQ(grant.env.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "20");
  EXPECT_THAT(grant.mounts, testing::SizeIs(1));
}

TEST(Mps, RefusesADeviceThatNoDaemonServes) {
  const Error error = must_refuse(replicas(), {"GPU-0::0"}, {});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message,
            "cannot allocate \"example.com/slice\": no MPS daemon serves GPU 0 (GPU-0), and MPS "
            "must limit its shares: see the agent's log");
}

TEST(Mps, RefusesADaemonInTroubleWithItsReason) {
  NodeFacts node = daemons();
  node.mps["GPU-0"].problem = "it does not answer; it is started again";
  const Error error = must_refuse(replicas(), {"GPU-0::0"}, node);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message,
              HasSubstr("the MPS daemon of GPU 0 (GPU-0): it does not answer; it is started"));
  EXPECT_TRUE(grant_of(replicas(), {"GPU-1::0"}, node)) << "the other GPU's is well";
}

TEST(NvidiasMpsLayout, GetsThePipeAndTheMountsAndNothingElse) {
  Offer offer = an_offer("nvidia.com/gpu", {a_shared_gpu(0, 4, 20 * kGiB)},
                         {.form = ShareForm::kReplicas, .enforcement = Enforcement::kMps});
  const std::string root = "/run/nvidia/mps";
  const NodeFacts node{
      .mps = {{"GPU-0",
               {.pipe_directory = "/mps/nvidia.com/gpu/pipe",
                .mounts = {{"/mps/nvidia.com/gpu/pipe", root + "/nvidia.com/gpu/pipe", false},
                           {"/dev/shm", root + "/shm", false}},
                .limits_are_the_daemons = true}}}};
  EXPECT_EQ(
      must_grant(offer, {"GPU-0::1"}, node),
      (ContainerGrant{.env = {{"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe"},
                              {"NVIDIA_VISIBLE_DEVICES", "GPU-0"}},
                      .mounts = {{"/mps/nvidia.com/gpu/pipe", root + "/nvidia.com/gpu/pipe", false},
                                 {"/dev/shm", root + "/shm", false}}}));
}

}  // namespace
}  // namespace tranche::core
