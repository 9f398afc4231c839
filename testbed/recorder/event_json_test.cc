// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/event_json.h"

#include <gtest/gtest.h>

namespace tranche::testbed::recorder {
namespace {

TEST(EventJson, TellsAListWithHealthAndNumaNodes) {
  v1beta1::ListAndWatchResponse list;
  v1beta1::Device* plain = list.add_devices();
  plain->set_id("b");
  plain->set_health("Unhealthy");
  v1beta1::Device* placed = list.add_devices();
  placed->set_id("a");
  placed->set_health("Healthy");
  placed->mutable_topology()->add_nodes()->set_id(1);
  v1beta1::Device* odd = list.add_devices();
  odd->set_id("c");
  odd->mutable_topology();
  EXPECT_EQ(devices(list).dump(),
            R"([{"id":"b","health":"Unhealthy"},{"id":"a","health":"Healthy","numa":[1]},)"
            R"({"id":"c","health":"","numa":[]}])");
}

TEST(EventJson, TellsIdsInTheOrderInWhichTheyWereSent) {
  v1beta1::PreferredAllocationRequest request;
  auto* container = request.add_container_requests();
  container->add_available_deviceids("z");
  container->add_available_deviceids("a");
  container->add_must_include_deviceids("z");
  container->set_allocation_size(2);
  EXPECT_EQ(question(request).dump(),
            R"({"containers":[{"available":["z","a"],"must_include":["z"],"size":2}]})");
  v1beta1::PreferredAllocationResponse response;
  response.add_container_responses()->add_deviceids("z");
  EXPECT_EQ(answer(response).dump(), R"({"containers":[{"ids":["z"]}]})");
}

TEST(EventJson, TellsAllThatAContainerIsGiven) {
  v1beta1::AllocateResponse response;
  auto* container = response.add_container_responses();
  (*container->mutable_envs())["E"] = "v";
  (*container->mutable_annotations())["A"] = "w";
  auto* mount = container->add_mounts();
  mount->set_host_path("/h");
  mount->set_container_path("/c");
  mount->set_read_only(true);
  auto* node = container->add_devices();
  node->set_host_path("/dev/h");
  node->set_container_path("/dev/c");
  node->set_permissions("rw");
  container->add_cdi_devices()->set_name("v/c=1");
  EXPECT_EQ(answer(response).dump(),
            R"({"containers":[{"envs":{"E":"v"},)"
            R"("mounts":[{"host":"/h","container":"/c","read_only":true}],)"
            R"("devices":[{"host":"/dev/h","container":"/dev/c","permissions":"rw"}],)"
            R"("annotations":{"A":"w"},"cdi_devices":["v/c=1"]}]})");
}

TEST(EventJson, TellsARegistrationWithItsOptionsIfItHasThem) {
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint("a.sock");
  request.set_resource_name("nvidia.com/gpu");
  EXPECT_EQ(question(request).dump(),
            R"({"resource":"nvidia.com/gpu","endpoint":"a.sock","version":"v1beta1"})");
  request.mutable_options()->set_pre_start_required(true);
  EXPECT_EQ(question(request)["options"].dump(),
            R"({"pre_start_required":true,"get_preferred_allocation_available":false})");
}

TEST(EventJson, NamesAnErrorsCodeAsTheKubeletDoes) {
  EXPECT_EQ(error({grpc::StatusCode::NOT_FOUND, "no x"}).dump(),
            R"({"code":"NotFound","message":"no x"})");
}

}  // namespace
}  // namespace tranche::testbed::recorder
