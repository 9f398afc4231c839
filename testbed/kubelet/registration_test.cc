// SPDX-License-Identifier: Apache-2.0
//
// How the stand-in takes registrations, over real sockets.
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

#include "os/files.h"
#include "os/unique_fd.h"
#include "testbed/kubelet/registration_fixture.h"

namespace tranche::testbed::standin {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// A file that a dead process's socket would be.
void leave_socket(const std::string& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(fd);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path, std::begin(address.sun_path));
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

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
}  // namespace tranche::testbed::standin
