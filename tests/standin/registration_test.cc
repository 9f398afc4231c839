// SPDX-License-Identifier: Apache-2.0
//
// How the stand-in takes registrations and follows streams, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"
#include "standin/kubelet.h"
#include "standin/scripted_plugin.h"

namespace tranche::standin {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr std::chrono::seconds kPatience{20};

// A file that a dead process's socket would be.
void leave_socket(const std::string& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(fd);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path, std::begin(address.sun_path));
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

class Standin : public testing::Test {
 protected:
  Standin() { options_.directory = dir_.path("device-plugins"); }

  void start() {
    kubelet_ = std::make_unique<Kubelet>(options_);
    const Status started = kubelet_->start();
    ASSERT_TRUE(started) << started.error().message;
  }

  // A plugin whose devices the node has.
  std::unique_ptr<ScriptedPlugin> registered(const std::string& endpoint, int devices) {
    auto plugin = std::make_unique<ScriptedPlugin>(options_.directory, endpoint);
    plugin->publish(healthy_devices(devices));
    EXPECT_TRUE(plugin->register_as(kGpu).ok());
    EXPECT_TRUE(wait_for_devices(devices));
    return plugin;
  }

  bool wait_for_devices(std::int64_t count) {
    return kubelet_->wait_for_allocatable(kGpu, count, kPatience);
  }
  bool wait_for_event(EventKind kind, std::size_t count = 1) {
    return kubelet_->transcript().wait_for(kind, count, kPatience);
  }

  const TempDir dir_;
  KubeletOptions options_;
  std::unique_ptr<Kubelet> kubelet_;
};

TEST_F(Standin, DeletesOnlySocketsWhenItStarts) {
  const std::string& directory = options_.directory;
  std::filesystem::create_directories(directory + "/folder");
  leave_socket(directory + "/old-plugin.sock");
  leave_socket(directory + "/kubelet.sock");
  leave_socket(directory + "/folder/deep.sock");
  leave_socket(dir_.path("elsewhere"));
  std::filesystem::create_symlink(dir_.path("elsewhere"), directory + "/link-to-socket");
  std::ofstream(directory + "/DEPRECATION") << "x";
  std::ofstream(directory + "/file.sock") << "not a socket";
  start();
  EXPECT_THAT(*list_directory(directory),
              ElementsAre("DEPRECATION", "file.sock", "folder", "kubelet.sock"));
  EXPECT_TRUE(path_exists(directory + "/folder/deep.sock"));
  EXPECT_TRUE(path_exists(dir_.path("elsewhere")));
}

TEST_F(Standin, LeavesItsSocketBehindWhereItIsKilled) {
  start();
  kubelet_->stop(SocketFile::kLeftBehind);
  EXPECT_TRUE(path_exists(kubelet_->socket_path()));
  ASSERT_TRUE(kubelet_->start());
  kubelet_->stop(SocketFile::kRemoved);
  EXPECT_FALSE(path_exists(kubelet_->socket_path()));
}

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

TEST_F(Standin, RefusesAnApiVersionThatItDoesNotSpeak) {
  start();
  ScriptedPlugin plugin(options_.directory, "gpu.sock");
  const grpc::Status status = plugin.register_as(kGpu, "v1beta2");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(status.error_message(),
            "requested API version \"v1beta2\" is not supported by kubelet. Supported version is "
            "[\"v1beta1\"]");
  EXPECT_EQ(plugin.opened_streams(), 0U);
}

TEST_F(Standin, RefusesANameThatIsNoExtendedResource) {
  start();
  ScriptedPlugin plugin(options_.directory, "gpu.sock");
  EXPECT_EQ(plugin.register_as("gpu").error_message(), "the ResourceName \"gpu\" is invalid");
}

TEST_F(Standin, ReadsTheOptionsInsideTheRegisterCallAndOpensTheStreamAfterIt) {
  start();
  ScriptedPlugin plugin(options_.directory, "gpu.sock");
  plugin.publish(healthy_devices(2));
  ASSERT_TRUE(plugin.register_as(kGpu).ok());
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchReceived));
  EXPECT_THAT(
      kubelet_->transcript().lines(),
      ElementsAre("Started", "Register nvidia.com/gpu endpoint=gpu.sock version=v1beta1 -> OK",
                  "GetDevicePluginOptions nvidia.com/gpu -> pre_start_required=false "
                  "get_preferred_allocation_available=false",
                  "ListAndWatch nvidia.com/gpu endpoint=gpu.sock -> opened",
                  "ListAndWatch nvidia.com/gpu endpoint=gpu.sock -> devices=2 healthy=2"));
}

TEST_F(Standin, CanOpenTheStreamBeforeItAnswers) {
  options_.stream_before_answer = true;
  start();
  ScriptedPlugin plugin(options_.directory, "gpu.sock");
  plugin.publish(healthy_devices(2));
  ASSERT_TRUE(plugin.register_as(kGpu).ok());
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 2);
}

TEST_F(Standin, CallsPluginsUnderTheNameLocalhost) {
  start();
  const auto plugin = registered("gpu.sock", 1);
  EXPECT_EQ(plugin->last_authority(), "localhost");
}

TEST_F(Standin, FailsTheRegistrationWhereTheOptionsCannotBeRead) {
  start();
  ScriptedPlugin plugin(options_.directory, "gpu.sock", {.on_options = [] {
                          return grpc::Status(grpc::StatusCode::INTERNAL, "out of order");
                        }});
  EXPECT_EQ(plugin.register_as(kGpu).error_message(),
            "failed to get device plugin options: rpc error: code = Internal desc = out of order");
  EXPECT_EQ(plugin.opened_streams(), 0U);
}

TEST_F(Standin, GivesUpDiallingASocketThatNobodyServes) {
  options_.dial_patience = milliseconds(100);
  start();
  ScriptedPlugin plugin(options_.directory, "gpu.sock");
  std::filesystem::rename(options_.directory + "/gpu.sock", options_.directory + "/away.sock");
  EXPECT_EQ(plugin.register_as(kGpu).error_message(),
            "failed to dial device plugin: context deadline exceeded");
  EXPECT_TRUE(kubelet_->node().resources.empty());
}

TEST_F(Standin, WaitsForASocketThatAppearsWhileItDials) {
  start();
  auto late = std::make_unique<ScriptedPlugin>(options_.directory, "late.sock");
  const std::string away = options_.directory + "/away";
  std::filesystem::rename(options_.directory + "/late.sock", away);
  grpc::Status status;
  std::thread registering([&] { status = late->register_as(kGpu); });
  EXPECT_TRUE(kubelet_->transcript().wait_until(
      [](const auto& events) { return events.back().kind == EventKind::kRegister; }, kPatience));
  std::filesystem::rename(away, options_.directory + "/late.sock");
  registering.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
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
  options_.dial_patience = milliseconds(50);
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

TEST_F(Standin, RefusesASocketOf137ThatIsConnected) {
  options_.version = KubeletVersion::k137;
  start();
  const auto plugin = registered("gpu.sock", 2);
  EXPECT_EQ(plugin->register_as(kGpu).error_message(),
            "device plugin already connected: " + options_.directory + "/gpu.sock");
  // The refusal also dropped the connection that works: its end is overlooked.
  plugin->end_streams();
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchEnded));
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 2);
  EXPECT_FALSE(plugin->register_as(kGpu).ok());
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

TEST_F(Standin, KnowsItsResourcesWithoutDevicesAfterARestart) {
  start();
  const auto plugin = registered("gpu.sock", 2);
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchReceived));
  ASSERT_TRUE(kubelet_->restart());
  const ResourceView gpus = kubelet_->node().resources.at(kGpu);
  EXPECT_EQ(gpus.capacity, 0);
  EXPECT_EQ(gpus.allocatable, 0);
  EXPECT_FALSE(gpus.connected);
  EXPECT_FALSE(path_exists(options_.directory + "/gpu.sock")) << "the plugin must serve anew";
}

TEST_F(Standin, TakesANodeWithoutCheckpointForANewOne) {
  start();
  const auto plugin = registered("gpu.sock", 2);
  ASSERT_TRUE(wait_for_event(EventKind::kListAndWatchReceived));
  kubelet_->stop();
  std::filesystem::remove(options_.directory + "/kubelet_internal_checkpoint");
  ASSERT_TRUE(kubelet_->start());
  EXPECT_EQ(kubelet_->node().resources.at(kGpu), ResourceView{});
}

TEST_F(Standin, GoesOnWithoutACheckpointThatItCannotRead) {
  std::filesystem::create_directories(options_.directory);
  std::ofstream(options_.directory + "/kubelet_internal_checkpoint") << "{";
  start();
  EXPECT_TRUE(kubelet_->node().resources.empty());
  EXPECT_THAT(kubelet_->transcript().lines().front(), HasSubstr("checkpoint is corrupted"));
}

TEST_F(Standin, AnswersRegistrationsThatAreUnderWayWhenItStops) {
  start();
  ScriptedPlugin plugin(options_.directory, "gpu.sock");
  std::filesystem::remove(options_.directory + "/gpu.sock");
  grpc::Status status;
  std::thread registering([&] { status = plugin.register_as(kGpu); });
  EXPECT_TRUE(kubelet_->transcript().wait_until(
      [](const auto& events) { return events.back().kind == EventKind::kRegister; }, kPatience));
  kubelet_->stop();
  registering.join();
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace tranche::standin
