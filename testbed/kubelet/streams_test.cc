// SPDX-License-Identifier: Apache-2.0
//
// How the stand-in follows a plugin's stream and takes note of its end, over real
// sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "os/files.h"
#include "testbed/kubelet/registration_fixture.h"

namespace tranche::testbed::standin {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(Standin, ShowsThePluginsDevicesWithHealthAndNumaNodes) {
  start();
  ScriptedPlugin plugin(options_.directory, "gpu.sock");
  plugin.publish({{"a", "Healthy", {0}}, {"b", "Unhealthy", {0, 1}}, {"c", "Sick", {}}});
  ASSERT_TRUE(plugin.register_as(kGpu).ok());
  ASSERT_TRUE(
      kubelet_->wait_until([](const auto& node) { return node.capacity(kGpu) == 3; }, kPatience));
  const ResourceView gpus = kubelet_->node().resources.at(kGpu);
  EXPECT_EQ(gpus.allocatable, 1);
  EXPECT_TRUE(gpus.connected);
  EXPECT_EQ(gpus.devices.at("a"), (DeviceView{true, {0}}));
  EXPECT_EQ(gpus.devices.at("b"), (DeviceView{false, {0, 1}}));
  EXPECT_EQ(gpus.devices.at("c"), (DeviceView{false, {}}));
}

TEST_F(Standin, TakesEachListAsTheWholeList) {
  start();
  const auto plugin = registered("gpu.sock", 4);
  plugin->publish({{"id1", "Healthy", {}}});
  ASSERT_TRUE(wait_for_devices(1));
  EXPECT_EQ(kubelet_->node().capacity(kGpu), 1);
}

TEST_F(Standin, MarksAllDevicesUnhealthyAtOnceWhenTheStreamEnds) {
  start();
  const auto plugin = registered("gpu.sock", 3);
  plugin->end_streams();
  ASSERT_TRUE(wait_for_devices(0));
  const ResourceView gpus = kubelet_->node().resources.at(kGpu);
  EXPECT_EQ(gpus.capacity, 3);
  EXPECT_FALSE(gpus.connected);
  EXPECT_THAT(kubelet_->transcript().lines(),
              Contains("ListAndWatch nvidia.com/gpu endpoint=gpu.sock -> EOF"));
}

TEST_F(Standin, NeverReopensAnEndedStream) {
  start();
  const auto plugin = registered("gpu.sock", 3);
  plugin->end_streams();
  ASSERT_TRUE(wait_for_event(EventKind::kDisconnected));
  // A second plugin goes through everything that comes after an end.
  ScriptedPlugin other(options_.directory, "other.sock");
  other.publish(healthy_devices(1));
  ASSERT_TRUE(other.register_as("example.com/other").ok());
  ASSERT_TRUE(kubelet_->wait_for_allocatable("example.com/other", 1, kPatience));
  EXPECT_EQ(plugin->opened_streams(), 1U);
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 0);
  // Only a new registration helps.
  ASSERT_TRUE(plugin->register_as(kGpu).ok());
  EXPECT_TRUE(wait_for_devices(3));
  EXPECT_EQ(plugin->opened_streams(), 2U);
}

TEST_F(Standin, TakesTheCapacityAwayAfterTheGracePeriodAndKeepsTheName) {
  options_.grace = milliseconds(50);
  start();
  const auto plugin = registered("gpu.sock", 3);
  plugin->end_streams();
  ASSERT_TRUE(wait_for_event(EventKind::kDisconnected));
  ASSERT_TRUE(
      kubelet_->wait_until([](const auto& node) { return node.capacity(kGpu) == 0; }, kPatience));
  EXPECT_EQ(kubelet_->node().resources.count(kGpu), 1U);
  EXPECT_TRUE(kubelet_->node().resources.at(kGpu).devices.empty());
  EXPECT_THAT(*read_file(options_.directory + "/kubelet_internal_checkpoint"),
              HasSubstr("\"RegisteredDevices\":{}"));
}

TEST_F(Standin, RefusesAListAboveFourMebibytes) {
  start();
  // 64 bytes a device: 2 for the entry's head, 2 + 51 for the id, 9 for "Healthy".
  const std::size_t fits = kLargestReceivedMessage / 64;
  std::vector<Device> devices;
  for (std::size_t i = 0; i < fits; ++i) {
    std::string id = std::to_string(i);
    devices.push_back({id + std::string(51 - id.size(), '-'), "Healthy", {}});
  }
  ScriptedPlugin plugin(options_.directory, "gpu.sock");
  plugin.publish(devices);
  ASSERT_TRUE(plugin.register_as(kGpu).ok());
  ASSERT_TRUE(wait_for_devices(static_cast<std::int64_t>(fits)));

  devices.push_back({"one more", "Healthy", {}});
  plugin.publish(devices);
  ASSERT_TRUE(wait_for_devices(0));
  EXPECT_EQ(kubelet_->node().capacity(kGpu), static_cast<std::int64_t>(fits));
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchEnded));
  EXPECT_THAT(kubelet_->transcript().calls(EventKind::kListAndWatchEnded).front().error,
              StartsWith("rpc error: code = ResourceExhausted"));
}

TEST_F(Standin, DisconnectsTheNewClientWhenTheOldStreamEndsLate) {
  start();
  const auto old_plugin = registered("old.sock", 2);
  const auto new_plugin = registered("new.sock", 3);
  old_plugin->end_streams();
  EXPECT_TRUE(wait_for_devices(0));
  // The plugin that is well has lost its stream, and nobody tells it.
  EXPECT_TRUE(new_plugin->wait_for_ended_streams(1, kPatience));
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchEnded, 2));
  EXPECT_THAT(kubelet_->transcript().lines(),
              Contains("Disconnected nvidia.com/gpu endpoint=new.sock"));
  EXPECT_FALSE(kubelet_->node().resources.at(kGpu).connected);
}

TEST_F(Standin, OverlooksTheEndOfAStreamWhoseSuccessorFailedToRegister) {
  start();
  const auto plugin = registered("gpu.sock", 2);
  ScriptedPlugin failing(options_.directory, "failing.sock", {.on_options = [] {
                           return grpc::Status(grpc::StatusCode::INTERNAL, "no");
                         }});
  ASSERT_FALSE(failing.register_as(kGpu).ok());
  plugin->end_streams();
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchEnded));
  // Nothing marks the devices: pods are still sent to a plugin that is gone.
  EXPECT_TRUE(plugin->wait_for_ended_streams(1, kPatience));
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 2);
  EXPECT_TRUE(kubelet_->transcript().calls(EventKind::kDisconnected).empty());
}

TEST_F(Standin, LosesAClientThatItWasDiallingWhenTheOldStreamEnded) {
  start();
  const auto old_plugin = registered("old.sock", 2);
  ScriptedPlugin new_plugin(options_.directory, "new.sock");
  new_plugin.publish(healthy_devices(3));
  const std::string socket = options_.directory + "/new.sock";
  std::filesystem::rename(socket, socket + ".away");
  grpc::Status status;
  std::thread registering([&] { status = new_plugin.register_as(kGpu); });
  EXPECT_TRUE(kubelet_->transcript().wait_until(
      [](const auto& events) {
        return std::ranges::count(events, "new.sock", &Event::endpoint) > 0;
      },
      kPatience));
  old_plugin->end_streams();
  EXPECT_TRUE(wait_for_event(EventKind::kDisconnected));
  std::filesystem::rename(socket + ".away", socket);
  registering.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_TRUE(wait_for_devices(3));
  // It works, but it is in no table: its end is overlooked.
  new_plugin.end_streams();
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchEnded, 2));
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 3);
}

TEST_F(Standin, KeepsTheNewClientOf137WhenTheOldStreamEnds) {
  options_.version = KubeletVersion::k137;
  start();
  const auto old_plugin = registered("old.sock", 2);
  const auto new_plugin = registered("new.sock", 3);
  old_plugin->end_streams();
  ASSERT_TRUE(wait_for_event(EventKind::kDisconnected));
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 3);
  EXPECT_TRUE(kubelet_->admit({.name = "p", .containers = {{"main", {{kGpu, 1}}}}}).admitted);
  EXPECT_EQ(new_plugin->allocate_requests().size(), 1U);
}

TEST_F(Standin, CanCutAStreamFromItsOwnSide) {
  start();
  const auto plugin = registered("gpu.sock", 2);
  EXPECT_TRUE(kubelet_->break_stream(kGpu));
  EXPECT_TRUE(wait_for_devices(0));
  EXPECT_TRUE(plugin->wait_for_ended_streams(1, kPatience));
  EXPECT_FALSE(kubelet_->break_stream("example.com/unknown"));
}

TEST_F(Standin, DisconnectsAPluginThatRegistersBeforeItsStreamsEndIsNoticed) {
  start();
  const auto plugin = registered("gpu.sock", 2);
  kubelet_->hold_stream_ends();
  ASSERT_TRUE(kubelet_->break_stream(kGpu));
  ASSERT_TRUE(plugin->wait_for_ended_streams(1, kPatience));
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 2);
  // With a new socket, too: 1.36 goes by the resource's name alone.
  const auto again = registered("again.sock", 3);
  kubelet_->release_stream_ends();
  EXPECT_TRUE(wait_for_devices(0));
  EXPECT_TRUE(again->wait_for_ended_streams(1, kPatience));
}

TEST_F(Standin, StopsWhileStreamEndsAreHeld) {
  start();
  const auto plugin = registered("gpu.sock", 2);
  kubelet_->hold_stream_ends();
  ASSERT_TRUE(kubelet_->break_stream(kGpu));
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchEnded));
  kubelet_->stop();
  EXPECT_TRUE(kubelet_->transcript().calls(EventKind::kDisconnected).empty());
}

TEST_F(Standin, EndsAllStreamsWhenItStops) {
  start();
  const auto plugin = registered("gpu.sock", 2);
  kubelet_->stop();
  EXPECT_TRUE(plugin->wait_for_ended_streams(1, kPatience));
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 2) << "the node's status outlives the kubelet";
}

}  // namespace
}  // namespace tranche::testbed::standin
