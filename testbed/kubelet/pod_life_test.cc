// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a pod's devices when its containers start and end, and when
// the kubelet restarts under it, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "os/files.h"
#include "testbed/kubelet/admission_fixture.h"

namespace tranche::testbed::standin {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(StandinAdmission, FreesARemovedPodsDevicesAtTheNextAllocation) {
  const auto plugin = plugin_for(kGpu, healthy_devices(1));
  const Pod first = pod_of("one", {{kGpu, 1}});
  ASSERT_TRUE(kubelet_->admit(first).admitted);
  kubelet_->remove(first);
  EXPECT_THAT(kubelet_->node().resources.at(kGpu).allocated, SizeIs(1)) << "not yet";
  EXPECT_TRUE(kubelet_->admit(pod_of("two", {{kGpu, 1}})).admitted);
}

TEST_F(StandinAdmission, FreesARemovedPodsDevicesWhenPodsAreListed) {
  const auto plugin = plugin_for(kGpu, healthy_devices(1));
  const Pod pod = pod_of("one", {{kGpu, 1}});
  ASSERT_TRUE(kubelet_->admit(pod).admitted);
  kubelet_->remove(pod);
  kubelet_->free_ended_pods();
  EXPECT_THAT(kubelet_->node().resources.at(kGpu).allocated, IsEmpty());
}

TEST_F(StandinAdmission, RestartsAContainerFromTheCachedResponse) {
  const auto plugin = plugin_for(kGpu, healthy_devices(2), {.on_allocate = name_devices});
  const Pod pod = pod_of("a", {{kGpu, 1}});
  const AdmissionResult result = kubelet_->admit(pod);
  ASSERT_TRUE(result.admitted);
  const auto started = kubelet_->start_container(pod, "main");
  const auto restarted = kubelet_->start_container(pod, "main");
  ASSERT_TRUE(started && restarted);
  EXPECT_EQ(*started, result.find("main")->response);
  EXPECT_EQ(*restarted, *started);
  EXPECT_THAT(plugin->allocate_requests(), SizeIs(1));
}

TEST_F(StandinAdmission, RestartsAContainerWhoseDeviceIsUnhealthy) {
  const auto plugin = plugin_for(kGpu, healthy_devices(1));
  const Pod pod = pod_of("a", {{kGpu, 1}});
  ASSERT_TRUE(kubelet_->admit(pod).admitted);
  plugin->publish({{"id0", "Unhealthy", {}}});
  ASSERT_TRUE(kubelet_->wait_for_allocatable(kGpu, 0, kPatience));
  EXPECT_TRUE(kubelet_->start_container(pod, "main")) << "1.36 looks at health in admission only";
}

TEST_F(StandinAdmission, RejectsAPodThatComesBackToAnUnhealthyDevice) {
  const auto plugin = plugin_for(kGpu, healthy_devices(2), preferring({"id0"}));
  const Pod pod = pod_of("a", {{kGpu, 1}});
  ASSERT_TRUE(kubelet_->admit(pod).admitted);
  plugin->publish({{"id0", "Unhealthy", {}}, {"id1", "Healthy", {}}});
  ASSERT_TRUE(kubelet_->wait_for_allocatable(kGpu, 1, kPatience));
  EXPECT_EQ(kubelet_->admit(pod).message,
            "Allocate failed due to previously allocated devices are no longer healthy; cannot "
            "allocate unhealthy devices nvidia.com/gpu, which is unexpected");
}

TEST_F(StandinAdmission, CallsPreStartContainerBeforeEveryStart) {
  const auto plugin =
      plugin_for(kGpu, healthy_devices(2), {.options = {.pre_start_required = true}});
  const Pod pod = pod_of("a", {{kGpu, 2}});
  ASSERT_TRUE(kubelet_->admit(pod).admitted);
  EXPECT_THAT(plugin->pre_start_requests(), IsEmpty());
  ASSERT_TRUE(kubelet_->start_container(pod, "main"));
  ASSERT_TRUE(kubelet_->start_container(pod, "main"));
  ASSERT_THAT(plugin->pre_start_requests(), SizeIs(2));
  const auto request = plugin->pre_start_requests().front();
  EXPECT_EQ(set_of(request.devices_ids()), (Ids{"id0", "id1"}));
}

TEST_F(StandinAdmission, FailsTheStartWherePreStartContainerFails) {
  const auto plugin = plugin_for(kGpu, healthy_devices(1),
                                 {.options = {.pre_start_required = true}, .on_pre_start = [] {
                                    return grpc::Status(grpc::StatusCode::INTERNAL, "cold");
                                  }});
  const Pod pod = pod_of("a", {{kGpu, 1}});
  ASSERT_TRUE(kubelet_->admit(pod).admitted);
  const auto started = kubelet_->start_container(pod, "main");
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message,
            "device plugin PreStartContainer rpc failed with err: rpc error: code = Internal desc "
            "= cold");
}

TEST_F(StandinAdmission, AllocatesAtTheStartWhatAdmissionDidNotKnow) {
  const Pod pod = pod_of("early", {{kGpu, 1}});
  const AdmissionResult early = kubelet_->admit(pod);
  ASSERT_TRUE(early.admitted) << "nobody had registered the resource yet";
  EXPECT_THAT(early.find("main")->devices, IsEmpty());
  const auto plugin = plugin_for(kGpu, healthy_devices(1), {.on_allocate = name_devices});
  const auto started = kubelet_->start_container(pod, "main");
  ASSERT_TRUE(started);
  EXPECT_EQ(started->envs.at("DEVICES"), "id0;");
}

TEST_F(StandinAdmission, KeepsAllocationsOverARestart) {
  auto plugin = plugin_for(kGpu, healthy_devices(2), {.on_allocate = name_devices});
  const Pod pod = pod_of("a", {{kGpu, 1}});
  const AdmissionResult before = kubelet_->admit(pod);
  ASSERT_TRUE(before.admitted);
  ASSERT_TRUE(kubelet_->restart());
  EXPECT_EQ(kubelet_->node().resources.at(kGpu).allocated, before.find("main")->devices.at(kGpu));

  // Until the plugin is back a pod that is not running cannot come back.
  EXPECT_THAT(kubelet_->admit(pod_of("new", {{kGpu, 1}})).message,
              HasSubstr("no healthy devices present; cannot allocate unhealthy devices"));

  plugin = plugin_for(kGpu, healthy_devices(2));
  const AdmissionResult after = kubelet_->admit(pod);
  ASSERT_TRUE(after.admitted) << after.message;
  EXPECT_EQ(after.find("main")->devices, before.find("main")->devices);
  EXPECT_EQ(after.find("main")->response, before.find("main")->response);
  EXPECT_THAT(plugin->allocate_requests(), IsEmpty());
}

TEST_F(StandinAdmission, RejectsAFoundPodWhoseInitContainerHasEndedWhereThePluginIsNotBack) {
  const auto plugin = plugin_for(kGpu, healthy_devices(4));
  const Pod plain = pod_of("plain", {{kGpu, 1}});
  const Pod prepared{.name = "prepared",
                     .init_containers = {{"before", {{kGpu, 1}}}},
                     .containers = {{"main", {{kGpu, 2}}}}};
  const Pod watched{.name = "a-watched",  // which is not how they are ordered
                    .init_containers = {{"watch", {{kGpu, 1}}, true}},
                    .containers = {{"main", {}}}};
  for (const Pod& pod : {plain, prepared, watched}) ASSERT_TRUE(kubelet_->admit(pod).admitted);
  ASSERT_TRUE(kubelet_->restart());
  const std::vector<FoundPod> found = kubelet_->admit_found_pods();
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].pod.name, "plain");
  EXPECT_TRUE(found[0].result.admitted) << found[0].result.message;
  EXPECT_EQ(found[1].pod.name, "prepared");
  EXPECT_EQ(found[1].result.reason, "UnexpectedAdmissionError");
  EXPECT_THAT(found[1].result.message, HasSubstr("no healthy devices present"));
  EXPECT_EQ(found[2].pod.name, "a-watched");
  EXPECT_TRUE(found[2].result.admitted) << found[2].result.message;

  // It has ended, and what it had is free.
  const auto back = plugin_for(kGpu, healthy_devices(4));
  EXPECT_TRUE(kubelet_->admit(pod_of("heir", {{kGpu, 2}})).admitted);
  EXPECT_THAT(kubelet_->admit_found_pods(), SizeIs(3));
}

TEST_F(StandinAdmission, KeepsEveryFoundPodWhereThePluginWasBackBefore) {
  auto plugin = plugin_for(kGpu, healthy_devices(2));
  ASSERT_TRUE(kubelet_
                  ->admit({.name = "prepared",
                           .init_containers = {{"before", {{kGpu, 1}}}},
                           .containers = {{"main", {{kGpu, 2}}}}})
                  .admitted);
  ASSERT_TRUE(kubelet_->restart());
  plugin = plugin_for(kGpu, healthy_devices(2));
  const std::vector<FoundPod> found = kubelet_->admit_found_pods();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found[0].result.admitted) << found[0].result.message;
  EXPECT_THAT(plugin->allocate_requests(), IsEmpty());
}

TEST_F(StandinAdmission, RejectsForLackOfRoomAResourceThatWasForgotten) {
  options_.grace = milliseconds(1);
  options_.directory = dir_.path("impatient");
  kubelet_ = std::make_unique<Kubelet>(options_);
  ASSERT_TRUE(kubelet_->start());
  const auto plugin = plugin_for(kGpu, healthy_devices(1));
  plugin->end_streams();
  ASSERT_TRUE(
      kubelet_->wait_until([](const auto& node) { return node.capacity(kGpu) == 0; }, kPatience));
  const AdmissionResult result = kubelet_->admit(pod_of("a", {{kGpu, 1}}));
  EXPECT_EQ(result.reason, "OutOfnvidia.com/gpu");
  EXPECT_EQ(result.message,
            "Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 0, capacity: 0");
}

TEST_F(StandinAdmission, WritesTheCheckpointWithTheAllocation) {
  const auto plugin =
      plugin_for(kGpu, {{"id0", "Healthy", {1}}}, {.on_allocate = [](auto&, auto& response) {
                   (*response.add_container_responses()->mutable_envs())["A"] = "b";
                   return grpc::Status::OK;
                 }});
  ASSERT_TRUE(kubelet_->admit(pod_of("a", {{kGpu, 1}})).admitted);
  // CgYKAUESAWI= is the message {envs: {"A": "b"}}.
  EXPECT_THAT(*read_file(options_.directory + "/kubelet_internal_checkpoint"),
              HasSubstr(R"({"Data":{"PodDeviceEntries":[{"PodUID":"a-uid","ContainerName":"main",)"
                        R"("ResourceName":"nvidia.com/gpu","DeviceIDs":{"1":["id0"]},)"
                        R"("AllocResp":"CgYKAUESAWI="}],)"
                        R"("RegisteredDevices":{"nvidia.com/gpu":["id0"]}},"Checksum":)"));
}

}  // namespace
}  // namespace tranche::testbed::standin
