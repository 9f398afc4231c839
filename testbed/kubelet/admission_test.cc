// SPDX-License-Identifier: Apache-2.0
//
// How pods get their devices, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>
#include <thread>

#include "testbed/kubelet/admission_fixture.h"

namespace tranche::testbed::standin {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(StandinAdmission, GivesDevicesAndThePluginsResponse) {
  const auto plugin = plugin_for(kGpu, healthy_devices(4), {.on_allocate = name_devices});
  const AdmissionResult result = kubelet_->admit(pod_of("a", {{kGpu, 2}}));
  ASSERT_TRUE(result.admitted) << result.message;
  ASSERT_THAT(result.containers, SizeIs(1));
  const ContainerGrant& main = *result.find("main");
  const Ids& ids = main.devices.at(kGpu);
  ASSERT_THAT(ids, SizeIs(2));
  EXPECT_EQ(main.response.envs.at("DEVICES"), *ids.begin() + ";" + *ids.rbegin() + ";");
  EXPECT_EQ(kubelet_->node().resources.at(kGpu).allocated, ids);
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 4) << "allocation does not change the status";
}

TEST_F(StandinAdmission, CallsAllocateOnceForEachContainerAndResource) {
  const auto gpus = plugin_for(kGpu, healthy_devices(4));
  const auto nics = plugin_for(kNic, healthy_devices(4));
  const AdmissionResult result = kubelet_->admit(
      {.name = "p", .containers = {{"a", {{kGpu, 1}, {kNic, 1}}}, {"b", {{kGpu, 2}, {"cpu", 3}}}}});
  ASSERT_TRUE(result.admitted) << result.message;
  ASSERT_THAT(gpus->allocate_requests(), SizeIs(2));
  ASSERT_THAT(nics->allocate_requests(), SizeIs(1));
  EXPECT_EQ(gpus->allocate_requests()[0].container_requests_size(), 1);
  EXPECT_EQ(gpus->allocate_requests()[0].container_requests(0).devices_ids_size(), 1);
  EXPECT_EQ(gpus->allocate_requests()[1].container_requests(0).devices_ids_size(), 2);
}

TEST_F(StandinAdmission, SendsIdsInAnOrderThatTheSeedDecides) {
  const auto order = [&](std::uint64_t seed) {
    KubeletOptions options = options_;
    options.directory = dir_.path(std::to_string(++plugins_));
    options.seed = seed;
    Kubelet kubelet(options);
    EXPECT_TRUE(kubelet.start());
    ScriptedPlugin plugin(options.directory, "gpu.sock");
    plugin.publish(healthy_devices(32));
    EXPECT_TRUE(plugin.register_as(kGpu).ok());
    EXPECT_TRUE(kubelet.wait_for_allocatable(kGpu, 32, kPatience));
    EXPECT_TRUE(kubelet.admit(pod_of("a", {{kGpu, 32}})).admitted);
    const IdList sent = kubelet.transcript().calls(EventKind::kAllocate).at(0).ids;
    const auto received = plugin.allocate_requests().at(0);
    EXPECT_THAT(received.container_requests(0).devices_ids(), ElementsAreArray(sent));
    return sent;
  };
  const auto first = order(1);
  EXPECT_EQ(first, order(1));
  EXPECT_NE(first, order(2));
  EXPECT_FALSE(std::ranges::is_sorted(first));
}

TEST_F(StandinAdmission, AsksForThePreferenceWithAllAvailableDevices) {
  const auto plugin = plugin_for(kGpu, healthy_devices(8), preferring({"id3", "id5"}));
  const AdmissionResult result = kubelet_->admit(pod_of("a", {{kGpu, 2}}));
  ASSERT_TRUE(result.admitted);
  EXPECT_THAT(result.find("main")->devices.at(kGpu), ElementsAre("id3", "id5"));
  ASSERT_THAT(plugin->preferred_requests(), SizeIs(1));
  const auto request = plugin->preferred_requests().front();
  EXPECT_EQ(request.available_deviceids_size(), 8);
  EXPECT_EQ(request.must_include_deviceids_size(), 0);
  EXPECT_EQ(request.allocation_size(), 2);
  EXPECT_EQ(to_text(kubelet_->transcript().calls(EventKind::kGetPreferredAllocation).front()),
            "GetPreferredAllocation nvidia.com/gpu available=8 must=0 size=2 -> id3 id5");
}

TEST_F(StandinAdmission, AsksEvenWhereEveryDeviceIsNeeded) {
  const auto plugin = plugin_for(kGpu, healthy_devices(2), preferring({}));
  ASSERT_TRUE(kubelet_->admit(pod_of("a", {{kGpu, 2}})).admitted);
  EXPECT_THAT(plugin->preferred_requests(), SizeIs(1));
}

TEST_F(StandinAdmission, DoesNotAskAPluginThatHasNoPreference) {
  const auto plugin = plugin_for(kGpu, healthy_devices(2));
  ASSERT_TRUE(kubelet_->admit(pod_of("a", {{kGpu, 1}})).admitted);
  EXPECT_THAT(plugin->preferred_requests(), IsEmpty());
}

TEST_F(StandinAdmission, TakesOfThePreferenceWhatItOfferedAndFillsTheRest) {
  const auto plugin = plugin_for(kGpu, healthy_devices(4), preferring({"id2", "made-up"}));
  const AdmissionResult result = kubelet_->admit(pod_of("a", {{kGpu, 3}}));
  ASSERT_TRUE(result.admitted);
  const Ids ids = result.find("main")->devices.at(kGpu);
  EXPECT_THAT(ids, SizeIs(3));
  EXPECT_TRUE(ids.contains("id2"));
  EXPECT_FALSE(ids.contains("made-up"));
}

TEST_F(StandinAdmission, RejectsThePodWhereThePreferenceFails) {
  ScriptedPlugin::Script script{.options = {.preferred_allocation_available = true},
                                .on_preferred = [](const auto&, auto&) {
                                  return grpc::Status(grpc::StatusCode::INTERNAL, "no idea");
                                }};
  const auto plugin = plugin_for(kGpu, healthy_devices(2), script);
  const AdmissionResult result = kubelet_->admit(pod_of("a", {{kGpu, 1}}));
  EXPECT_FALSE(result.admitted);
  EXPECT_EQ(result.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(result.message,
            "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc "
            "error: code = Internal desc = no idea, which is unexpected");
  EXPECT_THAT(plugin->allocate_requests(), IsEmpty());
}

TEST_F(StandinAdmission, RejectsThePodWhereAllocateFailsAndFreesItsDevices) {
  const auto plugin = plugin_for(kGpu, healthy_devices(1), {.on_allocate = [](auto&, auto&) {
                                   return grpc::Status(grpc::StatusCode::UNKNOWN, "not today");
                                 }});
  const AdmissionResult result = kubelet_->admit(pod_of("a", {{kGpu, 1}}));
  EXPECT_EQ(result.message,
            "Allocate failed due to rpc error: code = Unknown desc = not today, which is "
            "unexpected");
  EXPECT_THAT(kubelet_->node().resources.at(kGpu).allocated, IsEmpty());
  EXPECT_THAT(
      kubelet_->transcript().lines(),
      Contains("Rejected default/a -> UnexpectedAdmissionError: Allocate failed due to rpc error: "
               "code = Unknown desc = not today, which is unexpected"));
}

TEST_F(StandinAdmission, KeepsTheReservationOfAResponseWithoutContainers) {
  const auto plugin = plugin_for(kGpu, healthy_devices(2),
                                 {.on_allocate = [](auto&, auto&) { return grpc::Status::OK; }});
  EXPECT_THAT(kubelet_->admit(pod_of("a", {{kGpu, 2}})).message,
              HasSubstr("no containers return in allocation response"));
  EXPECT_THAT(kubelet_->admit(pod_of("b", {{kGpu, 1}})).message,
              HasSubstr("requested number of devices unavailable for nvidia.com/gpu. Requested: "
                        "1, Available: 0"));
}

TEST_F(StandinAdmission, ReadsOnlyTheFirstContainerOfAResponse) {
  const auto plugin =
      plugin_for(kGpu, healthy_devices(1), {.on_allocate = [](auto&, auto& response) {
                   (*response.add_container_responses()->mutable_envs())["FIRST"] = "1";
                   (*response.add_container_responses()->mutable_envs())["SECOND"] = "2";
                   return grpc::Status::OK;
                 }});
  const AdmissionResult result = kubelet_->admit(pod_of("a", {{kGpu, 1}}));
  EXPECT_THAT(result.find("main")->response.envs, ElementsAre(std::pair("FIRST", "1")));
}

TEST_F(StandinAdmission, GivesOnlyHealthyDevicesThatNobodyHolds) {
  const auto plugin =
      plugin_for(kGpu, {{"a", "Healthy", {}}, {"b", "Unhealthy", {}}, {"c", "Healthy", {}}});
  const auto first = kubelet_->admit(pod_of("one", {{kGpu, 1}}));
  const auto second = kubelet_->admit(pod_of("two", {{kGpu, 1}}));
  ASSERT_TRUE(first.admitted && second.admitted);
  EXPECT_THAT((Ids{*first.find("main")->devices.at(kGpu).begin(),
                   *second.find("main")->devices.at(kGpu).begin()}),
              ElementsAre("a", "c"));
  EXPECT_FALSE(kubelet_->admit(pod_of("three", {{kGpu, 1}})).admitted);
}

TEST_F(StandinAdmission, HandsAnInitContainersDevicesToTheContainersThatFollow) {
  const auto plugin = plugin_for(kGpu, healthy_devices(4), preferring({}));
  const AdmissionResult result =
      kubelet_->admit({.name = "p",
                       .init_containers = {{"init", {{kGpu, 2}}}},
                       .containers = {{"a", {{kGpu, 1}}}, {"b", {{kGpu, 2}}}}});
  ASSERT_TRUE(result.admitted) << result.message;
  const Ids init = result.find("init")->devices.at(kGpu);
  const Ids a = result.find("a")->devices.at(kGpu);
  const Ids b = result.find("b")->devices.at(kGpu);
  EXPECT_THAT(init, IsSupersetOf(a));
  EXPECT_THAT(kubelet_->node().resources.at(kGpu).allocated, SizeIs(3));

  // "a" needed no question. "b" had to keep what "init" left over.
  ASSERT_THAT(plugin->preferred_requests(), SizeIs(2));
  const auto question = plugin->preferred_requests().back();
  EXPECT_EQ(question.allocation_size(), 2);
  ASSERT_EQ(question.must_include_deviceids_size(), 1);
  EXPECT_TRUE(init.contains(question.must_include_deviceids(0)));
  EXPECT_TRUE(b.contains(question.must_include_deviceids(0)));
  EXPECT_EQ(question.available_deviceids_size(), 3) << "two free ones and the one to include";
}

TEST_F(StandinAdmission, LetsASidecarKeepItsDevices) {
  const auto plugin = plugin_for(kGpu, healthy_devices(2));
  const AdmissionResult result =
      kubelet_->admit({.name = "p",
                       .init_containers = {{"sidecar", {{kGpu, 1}}, true}},
                       .containers = {{"main", {{kGpu, 1}}}}});
  ASSERT_TRUE(result.admitted) << result.message;
  EXPECT_NE(result.find("sidecar")->devices.at(kGpu), result.find("main")->devices.at(kGpu));
}

TEST_F(StandinAdmission, PrefersDevicesNearTheHintedNumaNodes) {
  const auto plugin = plugin_for(kGpu,
                                 {{"near0", "Healthy", {0}},
                                  {"near1", "Healthy", {0, 1}},
                                  {"far0", "Healthy", {1}},
                                  {"far1", "Healthy", {1}}},
                                 preferring({"far0", "near1"}));
  Pod pod = pod_of("one", {{kGpu, 1}});
  pod.containers[0].numa_affinity = NumaNodes{0};
  const AdmissionResult one = kubelet_->admit(pod);
  EXPECT_THAT(one.find("main")->devices.at(kGpu), ElementsAre("near1"))
      << "of the plugin's answer only aligned devices count";
  const auto aligned_question = plugin->preferred_requests().at(0);
  EXPECT_EQ(set_of(aligned_question.available_deviceids()), (Ids{"near0", "near1"}));

  // Now one aligned device is left and two are wanted: it must be included.
  pod = pod_of("two", {{kGpu, 2}});
  pod.containers[0].numa_affinity = NumaNodes{0};
  const AdmissionResult two = kubelet_->admit(pod);
  EXPECT_THAT(two.find("main")->devices.at(kGpu), ElementsAre("far0", "near0"));
  const auto question = plugin->preferred_requests().at(1);
  EXPECT_EQ(set_of(question.must_include_deviceids()), (Ids{"near0"}));
  EXPECT_EQ(set_of(question.available_deviceids()), (Ids{"near0", "far0", "far1"}));
  EXPECT_EQ(question.allocation_size(), 2);
}

TEST_F(StandinAdmission, SaysWhereTheRealKubeletWouldCrash) {
  std::promise<void> called;
  std::promise<void> go_on;
  const auto plugin =
      plugin_for(kGpu, healthy_devices(1), {.on_allocate = [&](auto&, auto& answer) {
                   called.set_value();
                   go_on.get_future().wait();
                   answer.add_container_responses();
                   return grpc::Status::OK;
                 }});
  AdmissionResult result;
  std::thread admitting([&] { result = kubelet_->admit(pod_of("a", {{kGpu, 1}})); });
  called.get_future().wait();
  plugin->publish({});
  EXPECT_TRUE(kubelet_->wait_for_allocatable(kGpu, 0, kPatience));
  go_on.set_value();
  admitting.join();
  EXPECT_EQ(result.reason, "KubeletPanic");
}

TEST_F(StandinAdmission, EndsAnAllocationThatIsUnderWayWhenItStops) {
  std::promise<void> called;
  std::promise<void> go_on;
  const auto plugin =
      plugin_for(kGpu, healthy_devices(1), {.on_allocate = [&](auto&, auto& answer) {
                   called.set_value();
                   go_on.get_future().wait();
                   answer.add_container_responses();
                   return grpc::Status::OK;
                 }});
  AdmissionResult result;
  std::thread admitting([&] { result = kubelet_->admit(pod_of("a", {{kGpu, 1}})); });
  called.get_future().wait();
  kubelet_->stop();
  admitting.join();
  go_on.set_value();
  EXPECT_EQ(result.reason, "KubeletStopped");
}

TEST_F(StandinAdmission, MergesTheResponsesOfSeveralResources) {
  const auto answer = [](const std::string& value) {
    return [value](auto&, auto& response) {
      auto* container = response.add_container_responses();
      (*container->mutable_envs())["SHARED"] = value;
      (*container->mutable_envs())["ONLY_" + value] = "1";
      container->add_cdi_devices()->set_name("example.com/class=both");
      container->add_cdi_devices()->set_name("example.com/class=" + value);
      return grpc::Status::OK;
    };
  };
  const auto gpus = plugin_for(kGpu, healthy_devices(1), {.on_allocate = answer("gpu")});
  const auto nics = plugin_for(kNic, healthy_devices(1), {.on_allocate = answer("nic")});
  const AdmissionResult result = kubelet_->admit(pod_of("a", {{kGpu, 1}, {kNic, 1}}));
  ASSERT_TRUE(result.admitted);
  const ContainerResponse& merged = result.find("main")->response;
  EXPECT_THAT(merged.envs.at("SHARED"), testing::AnyOf("gpu", "nic"));
  EXPECT_TRUE(merged.envs.contains("ONLY_gpu") && merged.envs.contains("ONLY_nic"));
  EXPECT_THAT(merged.cdi_devices,
              UnorderedElementsAre("example.com/class=both", "example.com/class=gpu",
                                   "example.com/class=nic"));
}

TEST_F(StandinAdmission, RejectsWhereItDoesNotRun) {
  kubelet_->stop();
  EXPECT_EQ(kubelet_->admit(pod_of("a", {{kGpu, 1}})).reason, "KubeletStopped");
  EXPECT_FALSE(kubelet_->start_container(pod_of("a", {{kGpu, 1}}), "main"));
}

}  // namespace
}  // namespace tranche::testbed::standin
