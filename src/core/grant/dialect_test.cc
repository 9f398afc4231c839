// SPDX-License-Identifier: Apache-2.0
#include "core/grant/dialect.h"

#include <gmock/gmock.h>

#include "core/grant/testing/shares.h"

namespace tranche::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

NodeFacts facts() {
  return {.control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"},
          .cdi = {{"gpu", {"GPU-0", "GPU-1"}}}};
}

Offer deepomatic() {
  return an_offer("deepomatic.com/shared-gpu", {a_shared_gpu(0, 100), a_shared_gpu(1, 100)},
                  {.form = ShareForm::kReplicas, .dialect = Dialect::kDeepomatic});
}

const GrantOptions kDriverFolder{
    .driver_mount = DriverMount{"/home/kubernetes/bin/nvidia", "/usr/local/nvidia"}};

TEST(DeepomaticsDialect, IsDeviceNodesAndTheDriversFolderAndNoVariable) {
  const ContainerGrant grant = must_grant(deepomatic(), {"GPU-1::0"}, facts(), kDriverFolder);
  EXPECT_EQ(grant,
            (ContainerGrant{.mounts = {{"/usr/local/nvidia", "/home/kubernetes/bin/nvidia", true}},
                            .nodes = {{"/dev/nvidiactl", "/dev/nvidiactl", "mrw"},
                                      {"/dev/nvidia-uvm", "/dev/nvidia-uvm", "mrw"},
                                      {"/dev/nvidia-uvm-tools", "/dev/nvidia-uvm-tools", "mrw"},
                                      {"/dev/nvidia1", "/dev/nvidia1", "mrw"}}}));
}

TEST(DeepomaticsDialect, PassesANodeOnceHoweverManySharesOfItsGpu) {
  EXPECT_THAT(must_grant(deepomatic(), {"GPU-0::0", "GPU-0::7", "GPU-1::0"}, facts()).nodes,
              SizeIs(3 + 2));
}

TEST(DeepomaticsDialect, RefusesRatherThanLeaveAContainerWithoutItsNodes) {
  NodeFacts no_uvm = facts();
  std::erase(no_uvm.control_nodes, "/dev/nvidia-uvm");
  const Error error = must_refuse(deepomatic(), {"GPU-0::0"}, no_uvm);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("/dev/nvidia-uvm is not on the node"), HasSubstr("nvidia-modprobe")));
  Offer no_minor = deepomatic();
  no_minor.devices[0].minor.reset();
  EXPECT_THAT(must_refuse(no_minor, {"GPU-0::0"}, facts()).message,
              HasSubstr("does not report the device node of GPU 0 (GPU-0)"));
}

TEST(DeepomaticsDialect, NamesDevicesByCdiWhereThatIsTheOnlyWay) {
  const ContainerGrant grant =
      must_grant(deepomatic(), {"GPU-1::0"}, facts(), {.list = {.cdi_cri = true}});
  EXPECT_EQ(grant, (ContainerGrant{.cdi_devices = {"k8s.device-plugin.nvidia.com/gpu=GPU-1"}}));
}

TEST(GcpsDialect, HasDeepomaticsFormAndTheCapabilitiesOfMigDevices) {
  Offer offer = deepomatic();
  offer.terms.dialect = Dialect::kGcp;
  offer.devices[1].mig_index = 0;
  offer.devices[1].caps = {12, 13};
  const ContainerGrant grant = must_grant(offer, {"GPU-1::0"}, facts(), kDriverFolder);
  EXPECT_THAT(grant.env, IsEmpty());
  ASSERT_THAT(grant.nodes, SizeIs(6));
  EXPECT_EQ(grant.nodes[5],
            (GrantedNode{"/dev/nvidia-caps/nvidia-cap13", "/dev/nvidia-caps/nvidia-cap13", "mrw"}));
}

TEST(GcpsDialect, HasGcpsLimitsWithMps) {
  Offer offer = an_offer("nvidia.com/gpu", {a_shared_gpu(0, 10, 8 * kGiB)},
                         {.form = ShareForm::kReplicas,
                          .dialect = Dialect::kGcp,
                          .demanded = Enforcement::kMps,
                          .enforcement = Enforcement::kMps});
  NodeFacts node = facts();
  node.mps["GPU-0"] = {.pipe_directory = "/tmp/nvidia-mps",
                       .mounts = {{"/tmp/nvidia-mps", "/tmp/nvidia-mps", false}}};
  const ContainerGrant grant = must_grant(offer, shares_of(0, 3), node);
  EXPECT_EQ(grant.env.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "30");
  EXPECT_EQ(grant.env.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=24576M");
  EXPECT_THAT(grant.mounts, ElementsAre(GrantedMount{"/tmp/nvidia-mps", "/tmp/nvidia-mps", false}));
}

TEST(GpusharesDialect, TellsTheContainersUnitsAndThoseOfItsOwnGpu) {
  const ContainerGrant grant = must_grant(gib_units(), shares_of(1, 3));
  EXPECT_EQ(grant.env.at("NVIDIA_VISIBLE_DEVICES"), "GPU-1");
  EXPECT_EQ(grant.env.at("ALIYUN_COM_GPU_MEM_IDX"), "1");
  EXPECT_EQ(grant.env.at("ALIYUN_COM_GPU_MEM_POD"), "3");
  EXPECT_EQ(grant.env.at("ALIYUN_COM_GPU_MEM_CONTAINER"), "3");
  // GPUShare says 140 here, the size of the first GPU.
  EXPECT_EQ(grant.env.at("ALIYUN_COM_GPU_MEM_DEV"), "80");
}

TEST(GpusharesDialect, NamesGpusByIndexOnRequest) {
  EXPECT_EQ(must_grant(gib_units(), {"GPU-1::0"}, {}, {.ids = DeviceIdStrategy::kIndex})
                .env.at("NVIDIA_VISIBLE_DEVICES"),
            "1");
}

TEST(GpusharesDialect, WorksThroughCdi) {
  const ContainerGrant grant =
      must_grant(gib_units(), {"GPU-1::0"}, facts(), {.list = {.cdi_cri = true}});
  EXPECT_THAT(grant.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-1"));
  EXPECT_FALSE(grant.env.contains("NVIDIA_VISIBLE_DEVICES"));
  EXPECT_EQ(grant.env.at("ALIYUN_COM_GPU_MEM_IDX"), "1");
}

TEST(Terms, OneShareOnlyRefusesTwo) {
  Offer offer = deepomatic();
  offer.terms.one_share_only = true;
  EXPECT_THAT(must_refuse(offer, {"GPU-0::0", "GPU-1::0"}, facts()).message,
              HasSubstr("maximum request size for shared resources is 1; found 2"));
}

TEST(NvidiasDialect, HasNothingOfOursForCountedTimeSlicing) {
  const Offer offer =
      an_offer("nvidia.com/gpu", {a_shared_gpu(0, 4, 20 * kGiB)}, {.form = ShareForm::kReplicas});
  EXPECT_EQ(must_grant(offer, {"GPU-0::2"}),
            (ContainerGrant{.env = {{"NVIDIA_VISIBLE_DEVICES", "GPU-0"}}}));
}

}  // namespace
}  // namespace tranche::core
