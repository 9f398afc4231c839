// SPDX-License-Identifier: Apache-2.0
//
// What containers get, through the real binary.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "deviceplugin_v1beta1.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "integration/node_story.h"
#include "os/files.h"
#include "testbed/worlds/builtin.h"

namespace tranche::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class GrantStory : public NodeStory {
 protected:
  std::string uuid(std::size_t gpu) const { return node_->world()->gpus.at(gpu).uuid.text; }

  void begin_with_cdi(const std::string& world, std::vector<std::string> flags) {
    if (::geteuid() != 0) GTEST_SKIP() << "device nodes can be made by root only";
    begin(world, std::move(flags));
  }

  nlohmann::json cdi_spec(const std::string& name = "gpu") const {
    const auto text = read_file(path("cdi/k8s.device-plugin.nvidia.com-" + name + ".json"));
    return text ? nlohmann::json::parse(*text) : nlohmann::json();
  }

  // A driver that can limit memory, by CDI alone; with config.yaml, where it was written.
  void begin_with_driver_limits(std::vector<std::string> flags) {
    if (::geteuid() != 0) GTEST_SKIP() << "device nodes can be made by root only";
    auto world = sim::builtin_world("t4-single");
    ASSERT_TRUE(world) << world.error().message;
    world->driver.version = world->driver.module_version = "615.10.01";
    const auto made = sim::SimulatedNode::create(path("root"), *world);
    ASSERT_TRUE(made) << made.error().message;
    node_ = *made;
    start_kubelet();
    flags.emplace_back("--device-list-strategy=cdi-cri");
    if (path_exists(path("config.yaml"))) flags.push_back("--config-file=" + path("config.yaml"));
    start_agent(std::move(flags));
  }

  // The names of the hooks for every container.
  std::vector<std::string> hooks() const {
    std::vector<std::string> names;
    const nlohmann::json spec = cdi_spec();
    for (const auto& hook : spec.at("containerEdits").at("hooks")) {
      names.push_back(hook.at("args").at(2));
    }
    return names;
  }

  // How often the first device has the hook that has the driver limit memory.
  std::size_t limit_hooks() const {
    const nlohmann::json edits = cdi_spec().at("devices").at(0).at("containerEdits");
    const std::string text = edits.dump();
    return text.find("apply-cuda-memory-limits") == std::string::npos ? 0U : 1U;
  }

  // Calls Allocate as no kubelet would.
  grpc::Status allocate(const std::vector<std::string>& ids) {
    const auto stub = v1beta1::DevicePlugin::NewStub(
        grpc::CreateChannel("unix:" + agent_socket(), grpc::InsecureChannelCredentials()));
    v1beta1::AllocateRequest request;
    auto& container = *request.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
    grpc::ClientContext context;
    v1beta1::AllocateResponse response;
    return stub->Allocate(&context, request, &response);
  }
};

TEST_F(GrantStory, IndexesNameDevicesWhereThatIsAskedFor) {
  begin("t4-quad", {"--device-id-strategy=index"});
  expect_allocatable(kGpu, 4);
  EXPECT_EQ(granted("pod", {{kGpu, 4}}).envs.at("NVIDIA_VISIBLE_DEVICES"), "0,1,2,3");
}

TEST_F(GrantStory, VolumeMountsNameDevicesWhereThatIsAskedFor) {
  begin("t4-single", {"--device-list-strategy=volume-mounts"});
  expect_allocatable(kGpu, 1);
  const auto response = granted("pod", {{kGpu, 1}});
  EXPECT_EQ(response.envs.at("NVIDIA_VISIBLE_DEVICES"), "/var/run/nvidia-container-devices");
  EXPECT_THAT(response.mounts, Contains(standin::Mount{
                                   "/var/run/nvidia-container-devices/" + uuid(0), "/dev/null"}));
}

TEST_F(GrantStory, CdiNamesResolveInTheSpecificationOnDisk) {
  begin_with_cdi("hgx-h200", {"--device-list-strategy=cdi-cri"});
  if (!node_) return;
  expect_allocatable(kGpu, 8);
  const auto response = granted("pod", {{kGpu, 2}});
  ASSERT_THAT(response.cdi_devices, testing::SizeIs(2));
  std::vector<std::string> names;
  const nlohmann::json spec = cdi_spec();
  for (const auto& device : spec.at("devices")) {
    names.push_back("k8s.device-plugin.nvidia.com/gpu=" + device.at("name").get<std::string>());
  }
  EXPECT_THAT(names, testing::IsSupersetOf(response.cdi_devices));
  EXPECT_THAT(names, Contains("k8s.device-plugin.nvidia.com/gpu=all"));
  EXPECT_THAT(response.envs, IsEmpty());
}

TEST_F(GrantStory, CdiSpecificationsHaveNoHookThatTheToolkitMayLack) {
  begin_with_cdi("t4-single", {"--device-list-strategy=cdi-cri"});
  if (!node_) return;
  expect_allocatable(kGpu, 1);
  EXPECT_THAT(hooks(), testing::UnorderedElementsAre("create-symlinks", "create-symlinks",
                                                     "update-ldcache"));
  expect_log(
      "NVIDIA's container toolkit on this node version=\"not known: there is no readable "
      "/usr/bin/");
  EXPECT_THAT(command({"devices"}).output, HasSubstr("CDI specifications have: not known"));
}

TEST_F(GrantStory, CdiSpecificationsHaveTheHooksOfTheToolkitThatIsThere) {
  begin_with_cdi("t4-single", {"--device-list-strategy=cdi-cri", "--cdi-toolkit-version=1.17.8"});
  if (!node_) return;
  expect_allocatable(kGpu, 1);
  EXPECT_THAT(hooks(), testing::UnorderedElementsAre("create-symlinks", "create-symlinks",
                                                     "update-ldcache", "enable-cuda-compat"));
  expect_log("NVIDIA's container toolkit on this node version=1.17.8");
}

TEST_F(GrantStory, TheHookForMemoryLimitsIsThereWhereTheDriverHoldsShares) {
  const std::string row =
      "version: v1\ntranche: {policies: [{resource: example.com/memory, share: memory";
  write("config.yaml", row + "}]}\n");
  begin_with_driver_limits({"--cdi-toolkit-version=1.20.1"});
  if (!node_) return;
  expect_log("shares are offered resource=example.com/memory.*enforcement=driver");
  EXPECT_EQ(limit_hooks(), 1U);
  // A container that was given a limit may be started again.
  write("config.yaml", row + ", enforcement: none}]}\n");
  expect_log("shares are offered resource=example.com/memory.*enforcement=none");
  EXPECT_EQ(limit_hooks(), 1U);
}

TEST_F(GrantStory, TheHookForMemoryLimitsIsNotThereForNothing) {
  begin_with_driver_limits({"--cdi-toolkit-version=1.20.1"});
  if (!node_) return;
  expect_allocatable(kGpu, 1);
  EXPECT_EQ(limit_hooks(), 0U);
}

TEST_F(GrantStory, TheDriverHoldsNothingWhereTheToolkitLacksTheHook) {
  write("config.yaml",
        "version: v1\ntranche: {policies: [{resource: example.com/memory, share: memory, "
        "enforcement: driver}]}\n");
  begin_with_driver_limits({"--cdi-toolkit-version=1.19.0"});
  if (!node_) return;
  expect_log(
      "example.com/memory has no usable share.*toolkit is 1.19.0 here, and "
      "apply-cuda-memory-limits, which sets the limit, came with 1.20.1");
  EXPECT_EQ(limit_hooks(), 0U);
}

TEST_F(GrantStory, CdiAnnotationsCarryTheNames) {
  begin_with_cdi("t4-single",
                 {"--device-list-strategy=cdi-annotations", "--cdi-annotation-prefix=x.io/"});
  if (!node_) return;
  expect_allocatable(kGpu, 1);
  const auto response = granted("pod", {{kGpu, 1}});
  ASSERT_THAT(response.annotations, testing::SizeIs(1));
  EXPECT_THAT(response.annotations.begin()->first, StartsWith("x.io/nvidia-device-plugin_"));
  EXPECT_EQ(response.annotations.begin()->second, "k8s.device-plugin.nvidia.com/gpu=" + uuid(0));
}

TEST_F(GrantStory, CdiSpecificationsFollowTheMigLayout) {
  begin_with_cdi("dgx-h100", {"--device-list-strategy=cdi-cri", "--mig-strategy=mixed"});
  if (!node_) return;
  expect_allocatable(kGpu, 8);
  const auto slice = sim::parse_wanted("3g.40gb");
  ASSERT_TRUE(slice);
  happens(sim::set_mig(0, {*slice, *slice}));
  expect_allocatable("nvidia.com/mig-3g.40gb", 2);
  const auto response = granted("pod", {{"nvidia.com/mig-3g.40gb", 1}});
  ASSERT_THAT(response.cdi_devices, testing::SizeIs(1));
  EXPECT_THAT(response.cdi_devices[0], StartsWith("k8s.device-plugin.nvidia.com/gpu=MIG-"));
}

TEST_F(GrantStory, AnUnwritableCdiFolderRefusesAllocationsWithTheReason) {
  write("cdi", "a file where the folder should be");
  begin_with_cdi("t4-single", {"--device-list-strategy=cdi-cri"});
  if (!node_) return;
  expect_allocatable(kGpu, 1);
  const auto refused = admit("pod", {{kGpu, 1}});
  EXPECT_FALSE(refused.admitted);
  EXPECT_THAT(refused.message, HasSubstr("no CDI specification has device"));
  std::filesystem::remove(path("cdi"));
  // It is mended without a restart, at the latest with the next change.
  happens(sim::raise_xid(0, {.number = 140}));
  expect_allocatable(kGpu, 0);
  happens(sim::reset(0));
  expect_allocatable(kGpu, 1);
  const auto again = admit("again", {{kGpu, 1}});
  EXPECT_TRUE(again.admitted) << again.message;
}

TEST_F(GrantStory, DeviceNodesArePassedOnce) {
  write("config.yaml",
        "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n");
  begin("t4-single", {"--pass-device-specs", "--config-file=" + path("config.yaml"),
                      "--nvidia-driver-root=/run/nvidia/driver"});
  expect_allocatable(kGpu, 4);
  const auto response = granted("pod", {{kGpu, 3}});
  std::vector<std::string> hosts;
  for (const auto& node : response.devices) hosts.push_back(node.host_path);
  EXPECT_THAT(hosts, testing::UnorderedElementsAre("/run/nvidia/driver/dev/nvidiactl",
                                                   "/run/nvidia/driver/dev/nvidia-uvm",
                                                   "/run/nvidia/driver/dev/nvidia-uvm-tools",
                                                   "/run/nvidia/driver/dev/nvidia-modeset",
                                                   "/run/nvidia/driver/dev/nvidia0"));
}

TEST_F(GrantStory, DriverFilesAreMountedReadOnlyAndAMissingFolderIsSaid) {
  make_node("t4-single");
  start_kubelet();
  start_agent({"-host-path=/var/lib/nvidia/lib64", "-container-path", "/usr/local/nvidia/lib64"});
  expect_log("the folder to mount into containers is not there");
  expect_allocatable(kGpu, 1);
  const auto response = granted("pod", {{kGpu, 1}});
  EXPECT_THAT(response.mounts,
              Contains(standin::Mount{"/usr/local/nvidia/lib64", "/var/lib/nvidia/lib64", true}));
  expect_log("the folder that is mounted into containers does not exist");
}

TEST_F(GrantStory, BadIdsAreRefusedAndTheAgentGoesOnServing) {
  begin("t4-quad");
  expect_allocatable(kGpu, 4);
  EXPECT_THAT(allocate({"GPU-nonsense"}).error_message(),
              HasSubstr("unknown device: GPU-nonsense"));
  EXPECT_THAT(allocate({uuid(0), uuid(0)}).error_message(), HasSubstr("device given twice"));
  EXPECT_THAT(allocate({uuid(0) + "::1"}).error_message(), HasSubstr("unknown device"));
  EXPECT_THAT(allocate({}).error_message(), HasSubstr("no device ids were given"));
  EXPECT_THAT(allocate({std::string(100000, 'x')}).error_message(), HasSubstr("unknown device"));
  EXPECT_TRUE(allocate({uuid(0)}).ok());
  EXPECT_TRUE(admit("pod", {{kGpu, 4}}).admitted);
}

TEST_F(GrantStory, ASecondReplicaCanBeRefused) {
  write("config.yaml",
        "version: v1\nsharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: "
        "[{name: gpu, replicas: 4}]}}\n");
  begin("t4-single", {"--config-file=" + path("config.yaml")});
  expect_allocatable(kGpu, 4);
  const auto refused = admit("two", {{kGpu, 2}});
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.reason, "UnexpectedAdmissionError");
  EXPECT_THAT(refused.message,
              HasSubstr("maximum request size for shared resources is 1; found 2"));
  EXPECT_TRUE(admit("one", {{kGpu, 1}}).admitted);
}

TEST_F(GrantStory, ReplicasArePackedWhereThatIsAskedFor) {
  write("config.yaml",
        "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n");
  begin("t4-quad",
        {"--config-file=" + path("config.yaml"), "--shared-devices-allocation-policy=packed"});
  expect_allocatable(kGpu, 16);
  const std::string first = granted("a", {{kGpu, 1}}).envs.at("NVIDIA_VISIBLE_DEVICES");
  for (const char* pod : {"b", "c", "d"}) {
    EXPECT_EQ(granted(pod, {{kGpu, 1}}).envs.at("NVIDIA_VISIBLE_DEVICES"), first);
  }
  EXPECT_NE(granted("e", {{kGpu, 1}}).envs.at("NVIDIA_VISIBLE_DEVICES"), first);
}

TEST_F(GrantStory, ImexThatIsRequiredAndMissingMakesDevicesUnhealthy) {
  begin("t4-single", {"--imex-channel-ids=0", "--imex-required"});
  expect_capacity(kGpu, 1);
  expect_allocatable(kGpu, 0);
}

}  // namespace
}  // namespace tranche::tests
