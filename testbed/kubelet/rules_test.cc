// SPDX-License-Identifier: Apache-2.0
//
// The small pure rules: names, clients, merging, the node's room, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testbed/kubelet/base64.h"
#include "testbed/kubelet/client_table.h"
#include "testbed/kubelet/merge.h"
#include "testbed/kubelet/predicate.h"
#include "testbed/kubelet/resource_names.h"
#include "testbed/kubelet/wire.h"

namespace tranche::testbed::standin {
namespace {

constexpr const char* kGpu = "nvidia.com/gpu";

TEST(ExtendedResourceName, NeedsADomainThatIsNotKubernetes) {
  EXPECT_TRUE(is_extended_resource_name("nvidia.com/gpu"));
  EXPECT_TRUE(is_extended_resource_name("nvidia.com/mig-1g.5gb"));
  EXPECT_TRUE(is_extended_resource_name("a/B_c.d"));
  EXPECT_FALSE(is_extended_resource_name("gpu"));
  EXPECT_FALSE(is_extended_resource_name(""));
  EXPECT_FALSE(is_extended_resource_name("kubernetes.io/gpu"));
  EXPECT_FALSE(is_extended_resource_name("node.kubernetes.io/gpu"));
  EXPECT_FALSE(is_extended_resource_name("requests.nvidia.com/gpu"));
}

TEST(ExtendedResourceName, IsAQualifiedName) {
  EXPECT_FALSE(is_extended_resource_name("nvidia.com/"));
  EXPECT_FALSE(is_extended_resource_name("/gpu"));
  EXPECT_FALSE(is_extended_resource_name("nvidia.com/a/b"));
  EXPECT_FALSE(is_extended_resource_name("Nvidia.com/gpu"));
  EXPECT_FALSE(is_extended_resource_name("nvidia..com/gpu"));
  EXPECT_FALSE(is_extended_resource_name("nvidia-.com/gpu"));
  EXPECT_FALSE(is_extended_resource_name("nvidia.com/-gpu"));
  EXPECT_FALSE(is_extended_resource_name("nvidia.com/gpu."));
  EXPECT_FALSE(is_extended_resource_name("nvidia.com/mig-1g.5gb+me"));
  EXPECT_TRUE(is_extended_resource_name("nvidia.com/" + std::string(63, 'x')));
  EXPECT_FALSE(is_extended_resource_name("nvidia.com/" + std::string(64, 'x')));
  // "requests." counts: 9 of the domain's 253 characters are taken.
  EXPECT_TRUE(is_extended_resource_name(std::string(244, 'x') + "/gpu"));
  EXPECT_FALSE(is_extended_resource_name(std::string(245, 'x') + "/gpu"));
}

TEST(ClientTable, Of136TakesTheOldClientsEndForTheNewOnes) {
  ClientTable table(KubeletVersion::k136);
  table.add(kGpu, {1, "/old"});
  table.add(kGpu, {2, "/new"});
  EXPECT_EQ(table.find(kGpu, "/old"), (ClientTable::Entry{2, "/new"}));
  table.drop(kGpu, "/new");
  EXPECT_FALSE(table.find(kGpu, "/new"));
}

TEST(ClientTable, Of136ForgetsTheOldClientWithAFailedNewOne) {
  ClientTable table(KubeletVersion::k136);
  table.add(kGpu, {1, "/old"});
  table.add(kGpu, {2, "/new"});
  table.drop(kGpu, "/new");
  EXPECT_FALSE(table.find(kGpu, "/old"));
  EXPECT_FALSE(table.newest(kGpu));
}

TEST(ClientTable, Of137KeepsClientsApartByTheirSockets) {
  ClientTable table(KubeletVersion::k137);
  table.add(kGpu, {1, "/old"});
  table.add(kGpu, {2, "/new"});
  EXPECT_EQ(table.find(kGpu, "/old"), (ClientTable::Entry{1, "/old"}));
  EXPECT_EQ(table.newest(kGpu), (ClientTable::Entry{2, "/new"}));
  table.drop(kGpu, "/new");
  EXPECT_EQ(table.find(kGpu, "/old"), (ClientTable::Entry{1, "/old"}));
}

TEST(ClientTable, Of137ForgetsBothClientsOfOneSocket) {
  ClientTable table(KubeletVersion::k137);
  table.add(kGpu, {1, "/same"});
  table.add(kGpu, {2, "/same"});
  table.drop(kGpu, "/same");
  EXPECT_FALSE(table.find(kGpu, "/same"));
}

TEST(MergeResponses, LetsTheFirstOneWin) {
  const ContainerResponse first{.envs = {{"A", "1"}},
                                .mounts = {{"/in", "/first", true}},
                                .devices = {{"/dev/x", "/dev/first", "rw"}},
                                .annotations = {{"k", "first"}},
                                .cdi_devices = {"v/c=1", "v/c=1"}};
  const ContainerResponse second{
      .envs = {{"A", "2"}, {"B", "2"}},
      .mounts = {{"/in", "/second", false}, {"/in2", "/second", false}},
      .devices = {{"/dev/x", "/dev/second", "r"}, {"/dev/y", "/dev/second", "r"}},
      .annotations = {{"k", "second"}, {"l", "second"}},
      .cdi_devices = {"v/c=2", "v/c=1"}};
  const ContainerResponse expected{
      .envs = {{"A", "1"}, {"B", "2"}},
      .mounts = {{"/in", "/first", true}, {"/in2", "/second", false}},
      .devices = {{"/dev/x", "/dev/first", "rw"}, {"/dev/y", "/dev/second", "r"}},
      .annotations = {{"k", "first"}, {"l", "second"}},
      .cdi_devices = {"v/c=1", "v/c=2"}};
  EXPECT_EQ(merge_responses({first, second}), expected);
  EXPECT_EQ(merge_responses({}), ContainerResponse{});
}

TEST(PodRequest, IsTheGreediestMoment) {
  const Pod pod{.init_containers = {{"big", {{kGpu, 5}}},
                                    {"sidecar", {{kGpu, 1}}, true},
                                    {"later", {{kGpu, 2}}}},
                .containers = {{"a", {{kGpu, 1}}}, {"b", {{kGpu, 2}, {"x.y/z", 1}}}}};
  EXPECT_EQ(pod_request(pod), (Limits{{kGpu, 5}, {"x.y/z", 1}}));
  Pod plain = pod;
  plain.init_containers.erase(plain.init_containers.begin());
  EXPECT_EQ(pod_request(plain).at(kGpu), 4) << "sidecar and both containers";
}

TEST(FindShortage, LooksAtTheNodesStatusLessTheOtherPods) {
  const Pod pod{.uid = "u", .containers = {{"a", {{kGpu, 2}}}}};
  const Pod other{.uid = "o", .containers = {{"a", {{kGpu, 1}}}}};
  EXPECT_FALSE(find_shortage({}, {{kGpu, {3, 3}}}, pod, {other}));
  const auto shortage = find_shortage({}, {{kGpu, {3, 2}}}, pod, {other});
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage.value_or(Shortage{}).reason, "OutOfnvidia.com/gpu");
  EXPECT_EQ(shortage.value_or(Shortage{}).message,
            "Node didn't have enough resource: nvidia.com/gpu, requested: 2, used: 1, capacity: 2");
  EXPECT_FALSE(find_shortage({}, {}, pod, {other})) << "not a resource of this node";
}

TEST(FindShortage, NeverCountsAllocatedDevicesAgainstTheirPod) {
  const Pod pod{.uid = "u", .containers = {{"a", {{kGpu, 2}}}}};
  NodeState state;
  state.pods["u"]["a"][kGpu] = {{{-1, {"x", "y"}}}, {}};
  recount_allocated(state);
  EXPECT_FALSE(find_shortage(state, {{kGpu, {2, 0}}}, pod, {}));
}

TEST(RpcErrorText, ReadsAsInTheKubelet) {
  EXPECT_EQ(rpc_error_text({grpc::StatusCode::UNAVAILABLE, "gone"}),
            "rpc error: code = Unavailable desc = gone");
  EXPECT_EQ(rpc_error_text({grpc::StatusCode::UNAUTHENTICATED, ""}),
            "rpc error: code = Unauthenticated desc = ");
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): that is the case
  EXPECT_EQ(rpc_error_text({static_cast<grpc::StatusCode>(20), "odd"}),
            "rpc error: code = Code(20) desc = odd");
}

TEST(StandinWire, KeepsAResponseOnItsWayThroughAMessage) {
  const ContainerResponse response{.envs = {{"A", "1"}},
                                   .mounts = {{"/in", "/out", true}},
                                   .devices = {{"/dev/x", "/dev/y", "rwm"}},
                                   .annotations = {{"k", "v"}},
                                   .cdi_devices = {"v/c=1"}};
  EXPECT_EQ(from_wire(to_wire(response)), response);
}

TEST(StandinBase64, GivesBackWhatItWasGiven) {
  for (const std::string text : {"", "f", "fo", "foo", "foob", "fooba", "foobar"}) {
    EXPECT_EQ(from_base64(to_base64(text)), text);
  }
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64(std::string("\0\xff\xfe", 3)), "AP/+");
  EXPECT_FALSE(from_base64("Zm9"));
  EXPECT_FALSE(from_base64("Zm9_"));
  EXPECT_FALSE(from_base64("Z==="));
}

}  // namespace
}  // namespace tranche::testbed::standin
