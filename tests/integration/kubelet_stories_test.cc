// SPDX-License-Identifier: Apache-2.0
//
// What happens to the kubelet, and to our place with it.
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "deviceplugin_v1beta1.grpc.pb.h"
#include "integration/node_story.h"
#include "os/files.h"

namespace tranche::tests {
namespace {

using standin::EventKind;
using testing::HasSubstr;

class KubeletStory : public NodeStory {
 protected:
  std::vector<std::string> our_sockets() const {
    std::vector<std::string> found;
    const auto names = list_directory(dir_.path("dp"));
    if (!names) return found;
    for (const std::string& name : *names) {
      if (name.starts_with("tranche-") && name.ends_with(".sock")) found.push_back(name);
    }
    return found;
  }
};

TEST_F(KubeletStory, AKubeletThatRestartsIsRegisteredWithAgain) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  const auto before = granted("pod", {{kGpu, 3}});
  const auto sockets = our_sockets();
  ASSERT_TRUE(kubelet_->restart());
  expect_allocatable(kGpu, 8);
  EXPECT_NE(our_sockets(), sockets) << "a fresh name each time";
  EXPECT_THAT(our_sockets(), testing::SizeIs(1));
  // What running pods hold is not given again.
  const auto rest = admit("rest", {{kGpu, 5}});
  EXPECT_TRUE(rest.admitted) << rest.message;
  EXPECT_FALSE(admit("more", {{kGpu, 1}}).admitted);
}

TEST_F(KubeletStory, AKubeletOf137IsRegisteredWithAgainToo) {
  make_node("hgx-h200");
  start_kubelet({.version = standin::KubeletVersion::k137});
  start_agent();
  expect_allocatable(kGpu, 8);
  ASSERT_TRUE(kubelet_->restart());
  expect_allocatable(kGpu, 8);
}

TEST_F(KubeletStory, AKubeletThatComesLateIsWaitedFor) {
  make_node("hgx-h200");
  start_agent();
  expect_log("no kubelet at .*/kubelet.sock; waiting for it");
  expect_log("driver opened");
  start_kubelet();
  expect_allocatable(kGpu, 8);
}

TEST_F(KubeletStory, AFolderThatIsMissingIsWaitedFor) {
  make_node("hgx-h200");
  std::filesystem::remove(dir_.path("dp"));
  start_agent();
  expect_log("waiting for the kubelet's folder");
  std::filesystem::create_directory(dir_.path("dp"));
  start_kubelet();
  expect_allocatable(kGpu, 8);
}

TEST_F(KubeletStory, ASocketThatIsDeletedUnderUsIsMadeAgain) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  const auto sockets = our_sockets();
  ASSERT_THAT(sockets, testing::SizeIs(1));
  std::filesystem::remove(dir_.path("dp/" + sockets[0]));
  EXPECT_TRUE(kubelet_->wait_until(
      [&](const standin::NodeView&) {
        return count_events(EventKind::kRegister) >= 2 && our_sockets() != sockets;
      },
      kPatience))
      << agent_->output();
  expect_allocatable(kGpu, 8);
}

TEST_F(KubeletStory, AStreamThatEndsIsAnsweredWithANewRegistration) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  ASSERT_TRUE(kubelet_->break_stream(kGpu));
  expect_log("the kubelet closed the stream");
  // Both at once: the kubelet may count the old devices for a moment longer.
  EXPECT_TRUE(kubelet_->wait_until(
      [&](const standin::NodeView& node) {
        return count_events(EventKind::kRegister) >= 2 && node.allocatable(kGpu) == 8;
      },
      kPatience))
      << agent_->output();
}

// The kubelet up to 1.36 goes by the resource's name: the late end of an old
// stream takes the new connection down, however fresh its socket.
TEST_F(KubeletStory, TheLateEndOfAnOldStreamIsGotOver) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  kubelet_->hold_stream_ends();
  ASSERT_TRUE(kubelet_->break_stream(kGpu));
  EXPECT_TRUE(kubelet_->wait_until(
      [&](const standin::NodeView&) { return count_events(EventKind::kRegister) >= 2; }, kPatience))
      << agent_->output();
  kubelet_->release_stream_ends();
  EXPECT_TRUE(kubelet_->wait_until(
      [&](const standin::NodeView& node) {
        return count_events(EventKind::kRegister) >= 3 && node.allocatable(kGpu) == 8;
      },
      kPatience))
      << agent_->output();
  EXPECT_TRUE(admit("pod", {{kGpu, 8}}).admitted);
}

// A registration that the kubelet takes while it has not yet seen the end of the
// old stream is struck from its table by that end. All goes well until our own
// end, which the kubelet then does not notice: the GPUs stay offered for ever.
TEST_F(KubeletStory, AResourceThatComesBackIsRegisteredWhenTheKubeletHasSeenItGo) {
  make_node("t4-quad");
  start_kubelet();
  const std::string env = path("gpu.env");
  const std::string gpu = node_->world()->gpus.at(0).uuid.text;
  write("gpu.env", gpu);
  start_agent({"--profile=nested-guest", "--gpu-env=" + env, "--host-grants=" + path("grants")});
  expect_allocatable(kGpu, 1);
  const auto sockets = our_sockets();
  kubelet_->hold_stream_ends();
  write("gpu.env", "");
  const standin::Transcript& heard = kubelet_->transcript();
  ASSERT_TRUE(heard.wait_for(EventKind::kListAndWatchEnded, 1, kPatience));
  write("gpu.env", gpu);
  expect_log("waiting for the kubelet to close a connection");
  EXPECT_EQ(count_events(EventKind::kRegister), 1U);
  kubelet_->release_stream_ends();
  EXPECT_TRUE(heard.wait_for(EventKind::kRegister, 2, kPatience)) << agent_->output();
  EXPECT_EQ(count_events(EventKind::kDisconnected), 1U);
  expect_allocatable(kGpu, 1);
  EXPECT_NE(our_sockets(), sockets) << "1.37 refuses a path that it knows";
  stop_agent();
  expect_allocatable(kGpu, 0);
}

constexpr const char* kWhole = "example.com/whole";

std::string offering(const std::string& resource) {
  return "version: v1\ntranche: {policies: [{resource: " + resource + ", share: whole}]}\n";
}

// Without an empty list its capacity would stay at the node for five minutes.
TEST_F(KubeletStory, AResourceThatIsRemovedWhileAllOfItIsUnhealthyLeavesNoCapacity) {
  write("config.yaml", offering(kWhole));
  begin("t4-single", {"--config-file=" + path("config.yaml")});
  expect_allocatable(kWhole, 1);
  happens(sim::raise_xid(0, {.number = 140}));
  expect_allocatable(kWhole, 0);
  write("config.yaml", offering(kGpu));
  expect_capacity(kGpu, 1);
  expect_capacity(kWhole, 0);
}

TEST_F(KubeletStory, AResourceThatTheKubeletIsSlowToSeeGoDelaysNoHealthChangeOfAnother) {
  write("config.yaml", offering(kWhole));
  begin("t4-quad", {"--config-file=" + path("config.yaml")});
  expect_allocatable(kWhole, 4);
  kubelet_->hold_stream_ends();
  write("config.yaml", offering(kGpu));
  expect_allocatable(kGpu, 4);
  ASSERT_TRUE(kubelet_->transcript().wait_for(EventKind::kListAndWatchEnded, 1, kPatience));
  happens(sim::raise_xid(2, {.number = 140}));
  expect_allocatable(kGpu, 3);
  // By now the kubelet still has the connection of the old name.
  EXPECT_EQ(count_events(EventKind::kDisconnected), 0U);
  EXPECT_THAT(agent_->output(), testing::Not(HasSubstr("keeps a connection open")));
  kubelet_->release_stream_ends();
  EXPECT_TRUE(kubelet_->transcript().wait_for(EventKind::kDisconnected, 1, kPatience));
}

// The kubelet runs as root, and nobody else has any business there.
TEST_F(KubeletStory, OurSocketsAreForRootAlone) {
  begin("t4-single");
  expect_allocatable(kGpu, 1);
  struct stat status{};
  ASSERT_EQ(::stat(agent_socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(KubeletStory, AStreamThatIsOpenedBeforeTheAnswerIsNoSurprise) {
  make_node("hgx-h200");
  start_kubelet({.stream_before_answer = true});
  start_agent();
  expect_allocatable(kGpu, 8);
  expect_log("registered .*nvidia.com/gpu");
}

TEST_F(KubeletStory, SocketsOfOurDeadPredecessorsAreRemovedAndNobodyElses) {
  make_node("hgx-h200");
  start_kubelet();
  start_agent();
  expect_allocatable(kGpu, 8);
  kill_agent();
  const auto left = our_sockets();
  ASSERT_THAT(left, testing::SizeIs(1));
  write("dp/nvidia-gpu.sock", "");
  start_agent();
  expect_log("removed sockets of earlier agents names=" + left[0]);
  expect_allocatable(kGpu, 8);
  EXPECT_TRUE(path_exists(path("dp/nvidia-gpu.sock")));
  EXPECT_FALSE(path_exists(path("dp/" + left[0])));
}

TEST_F(KubeletStory, AnAgentThatIsKilledLeavesPodsTheirGpus) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  const auto mine = granted("pod", {{kGpu, 4}});
  kill_agent();
  expect_allocatable(kGpu, 0);
  start_agent();
  expect_allocatable(kGpu, 8);
  const auto others = granted("other", {{kGpu, 4}});
  EXPECT_FALSE(admit("third", {{kGpu, 1}}).admitted);
}

TEST_F(KubeletStory, AStoppedAgentLeavesNothingBehind) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  stop_agent();
  EXPECT_THAT(our_sockets(), testing::IsEmpty());
  EXPECT_FALSE(path_exists(path("state/control.sock")));
}

TEST_F(KubeletStory, AnUnchangedListIsNotSentAgain) {
  begin("hgx-h200", {"--health-check-interval=100ms"});
  expect_allocatable(kGpu, 8);
  // Two changes that we can wait for, with many looks at the driver between.
  for (const unsigned gpu : {1U, 2U}) {
    happens(sim::raise_xid(gpu, {.number = 140}));
    expect_allocatable(kGpu, 7);
    happens(sim::reset(gpu));
    expect_allocatable(kGpu, 8);
  }
  EXPECT_LE(count_events(EventKind::kListAndWatchReceived, kGpu), 5U);
}

// A stream beside the kubelet's own.
class SecondStream {
 public:
  explicit SecondStream(const std::string& socket)
      : stub_(v1beta1::DevicePlugin::NewStub(
            grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()))),
        stream_(stub_->ListAndWatch(&context_, {})) {}
  SecondStream(const SecondStream&) = delete;
  SecondStream& operator=(const SecondStream&) = delete;
  ~SecondStream() {
    context_.TryCancel();
    stream_->Finish();
  }

  // The next list: ids, unhealthy ones with a mark behind.
  std::vector<std::string> next() {
    v1beta1::ListAndWatchResponse message;
    if (!stream_->Read(&message)) return {};
    std::vector<std::string> ids;
    for (const auto& device : message.devices()) {
      ids.push_back(device.id() + (device.health() == "Healthy" ? "" : "!"));
    }
    return ids;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> stream_;
};

TEST_F(KubeletStory, IdsAreListedInOrder) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  const std::vector<std::string> ids = SecondStream(agent_socket()).next();
  EXPECT_THAT(ids, testing::SizeIs(8));
  EXPECT_TRUE(std::ranges::is_sorted(ids));
}

TEST_F(KubeletStory, TwoStreamsAtOnceBothGetEverything) {
  begin("t4-single");
  expect_allocatable(kGpu, 1);
  SecondStream second(agent_socket());
  const std::string id = second.next().at(0);
  happens(sim::raise_xid(0, {.number = 140}));
  expect_allocatable(kGpu, 0);
  EXPECT_THAT(second.next(), testing::ElementsAre(id + "!"));
  happens(sim::reset(0));
  expect_allocatable(kGpu, 1);
  EXPECT_THAT(second.next(), testing::ElementsAre(id));
}

// The kubelet's device manager crashes when a device leaves the list while an
// allocation of it is under way: one that goes is unhealthy first.
TEST_F(KubeletStory, ADeviceIsUnhealthyBeforeItLeavesTheList) {
  begin("t4-quad");
  expect_allocatable(kGpu, 4);
  SecondStream stream(agent_socket());
  const std::vector<std::string> before = stream.next();
  happens(sim::unplug(3));
  expect_capacity(kGpu, 3);
  std::vector<std::vector<std::string>> lists;
  do {
    lists.push_back(stream.next());
  } while (lists.back().size() == 4);
  ASSERT_GE(lists.size(), 2U) << "it left without a warning";
  EXPECT_THAT(lists.back(), testing::SizeIs(3));
  EXPECT_THAT(lists[lists.size() - 2], testing::Contains(testing::EndsWith("!")));
}

TEST_F(KubeletStory, PreferenceFollowsTheTopology) {
  begin("a40-bridged");
  expect_allocatable(kGpu, 8);
  const auto pair = granted("pair", {{kGpu, 2}});
  const auto world = node_->world();
  ASSERT_TRUE(world);
  const std::string first = world->gpus[0].uuid.text + "," + world->gpus[1].uuid.text;
  EXPECT_EQ(pair.envs.at("NVIDIA_VISIBLE_DEVICES"), first);
}

TEST_F(KubeletStory, ALostGpuDoesNotFailThePreferenceOfOthers) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::lose(0));
  expect_allocatable(kGpu, 7);
  EXPECT_TRUE(admit("pod", {{kGpu, 7}}).admitted);
}

TEST_F(KubeletStory, AListThatTheKubeletCouldNotTakeIsRefusedAtStart) {
  write("config.yaml",
        "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 10000}]}}\n");
  begin("hgx-h200", {"--config-file=" + path("config.yaml")});
  const auto end = agent_->wait_for_end(kPatience);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 1);
  EXPECT_THAT(agent_->output(), HasSubstr("nvidia.com/gpu would have 80000 shares"));
}

TEST_F(KubeletStory, TheLargestListThatFitsIsTaken) {
  write("config.yaml",
        "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 7000}]}}\n");
  begin("hgx-h200", {"--config-file=" + path("config.yaml")});
  expect_allocatable(kGpu, 56000);
  EXPECT_TRUE(admit("pod", {{kGpu, 8}}).admitted);
}

}  // namespace
}  // namespace tranche::tests
