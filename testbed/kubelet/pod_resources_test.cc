// SPDX-License-Identifier: Apache-2.0
//
// The stand-in's pod-resources service and its checkpoint, over real sockets and
// files. What is said here was seen on a real kubelet, see
// tests/e2e/stories/test_kubelet_sources.py.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>

#include "base/path.h"
#include "os/files.h"
#include "podresources_v1.grpc.pb.h"
#include "testbed/kubelet/admission_fixture.h"
#include "testbed/kubelet/checkpoint.h"

namespace tranche::testbed::standin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StandinPodResources : public StandinAdmission {
 protected:
  StandinPodResources() {
    options_.pod_resources_directory = dir_.path("pod-resources");
    kubelet_ = std::make_unique<Kubelet>(options_);
    EXPECT_TRUE(kubelet_->start());
  }

  std::unique_ptr<v1::PodResourcesLister::Stub> stub() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::PodResourcesLister::NewStub(grpc::CreateCustomChannel(
        "unix:" + kubelet_->pod_resources_path(), grpc::InsecureChannelCredentials(), arguments));
  }

  // "namespace/pod container resource=id@node", a line for each container.
  std::vector<std::string> list() const {
    v1::ListPodResourcesResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub()->List(&context, {}, &response);
    if (!status.ok()) return {"error: " + status.error_message()};
    std::vector<std::string> lines;
    for (const auto& pod : response.pod_resources()) add_lines(pod, lines);
    return lines;
  }

  static void add_lines(const v1::PodResources& pod, std::vector<std::string>& lines) {
    for (const auto& container : pod.containers()) {
      std::string line = pod.namespace_() + "/" + pod.name() + " " + container.name();
      for (const auto& devices : container.devices()) {
        line += " " + devices.resource_name() + "=" + devices.device_ids(0);
        for (const auto& node : devices.topology().nodes()) line += "@" + std::to_string(node.id());
      }
      lines.push_back(line);
    }
  }

  std::set<std::string> pods_in_checkpoint() const {
    const auto text = read_file(below(options_.directory, kCheckpointName));
    EXPECT_TRUE(text) << text.error().message;
    const auto checkpoint = decode_checkpoint(*text);
    EXPECT_TRUE(checkpoint) << checkpoint.error().message;
    std::set<std::string> uids;
    for (const auto& [uid, pod] : checkpoint->pods) uids.insert(uid);
    return uids;
  }
};

TEST_F(StandinPodResources, ListsActivePodsWithoutPlainInitContainers) {
  const auto plugin =
      plugin_for(kGpu, {{"a", "Healthy", {0}}, {"b", "Healthy", {0, 1}}, {"c", "Healthy", {}}});
  const Pod pod{.uid = "u",
                .name = "p",
                .init_containers = {{"prepare", {{kGpu, 1}}},
                                    {.name = "side", .limits = {{kGpu, 1}}, .restartable = true}},
                .containers = {{"main", {}}}};
  ASSERT_TRUE(kubelet_->admit(pod).admitted);
  ASSERT_TRUE(kubelet_->admit(pod_of("q", {{kGpu, 2}})).admitted);
  const std::vector<std::string> lines = list();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], testing::StartsWith("default/p side nvidia.com/gpu="));
  EXPECT_EQ(lines[1], "default/p main");
  EXPECT_EQ(kubelet_->pod_resources_counts(), (PodResourcesCounts{.lists = 1}));
}

TEST_F(StandinPodResources, TellsTheNumaNodesOfADevice) {
  const auto plugin = plugin_for(kGpu, {{"a", "Healthy", {0, 1}}, {"b", "Healthy", {}}});
  ASSERT_TRUE(kubelet_->admit(pod_of("p", {{kGpu, 2}})).admitted);
  EXPECT_THAT(list(), ElementsAre("default/p main nvidia.com/gpu=a@0@1 nvidia.com/gpu=b"));
}

TEST_F(StandinPodResources, GetsOnePodOrSaysThatThereIsNone) {
  const auto plugin = plugin_for(kGpu, healthy_devices(1));
  ASSERT_TRUE(kubelet_->admit(pod_of("p", {{kGpu, 1}})).admitted);
  v1::GetPodResourcesRequest request;
  request.set_pod_namespace("default");
  request.set_pod_name("p");
  v1::GetPodResourcesResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub()->Get(&context, request, &response).ok());
  std::vector<std::string> lines;
  add_lines(response.pod_resources(), lines);
  EXPECT_THAT(lines, ElementsAre("default/p main nvidia.com/gpu=id0"));

  request.set_pod_name("q");
  grpc::ClientContext again;
  EXPECT_EQ(stub()->Get(&again, request, &response).error_message(),
            "pod q in namespace default not found");
}

TEST_F(StandinPodResources, AnEndedPodStaysInTheCheckpointUntilAWriteAfterAList) {
  const auto plugin = plugin_for(kGpu, healthy_devices(2));
  const Pod pod = pod_of("p", {{kGpu, 1}});
  ASSERT_TRUE(kubelet_->admit(pod).admitted);
  kubelet_->remove(pod);
  // What a list changes is seen before it is told of.
  ASSERT_TRUE(kubelet_->transcript().wait_for(EventKind::kListAndWatchReceived, 1, kPatience));
  kubelet_->transcript().clear();
  plugin->publish({{"id0", "Healthy", {}}, {"id1", "Unhealthy", {}}});
  ASSERT_TRUE(kubelet_->transcript().wait_for(EventKind::kListAndWatchReceived, 1, kPatience));
  EXPECT_THAT(pods_in_checkpoint(), ElementsAre("p-uid")) << "nothing freed it";
  EXPECT_THAT(list(), IsEmpty());
  EXPECT_THAT(pods_in_checkpoint(), ElementsAre("p-uid")) << "nothing wrote it";
  plugin->publish(healthy_devices(2));
  ASSERT_TRUE(kubelet_->transcript().wait_for(EventKind::kListAndWatchReceived, 2, kPatience));
  EXPECT_THAT(pods_in_checkpoint(), IsEmpty());
}

TEST_F(StandinPodResources, GoesAndComesBack) {
  EXPECT_THAT(list(), IsEmpty());
  ASSERT_TRUE(kubelet_->serve_pod_resources(false));
  EXPECT_FALSE(path_exists(kubelet_->pod_resources_path()));
  EXPECT_THAT(list(), ElementsAre(testing::StartsWith("error: ")));
  ASSERT_TRUE(kubelet_->serve_pod_resources(true));
  EXPECT_THAT(list(), IsEmpty());
  ASSERT_TRUE(kubelet_->restart(SocketFile::kLeftBehind));
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(StandinPodResources, ListsNothingAfterARestartUntilItHasHeardOfItsPods) {
  const auto plugin = plugin_for(kGpu, healthy_devices(1));
  ASSERT_TRUE(kubelet_->admit(pod_of("p", {{kGpu, 1}})).admitted);
  ASSERT_TRUE(kubelet_->restart());
  EXPECT_THAT(list(), IsEmpty());
  EXPECT_THAT(pods_in_checkpoint(), ElementsAre("p-uid"));
  kubelet_->admit_found_pods();
  EXPECT_THAT(list(), ElementsAre("default/p main nvidia.com/gpu=id0"));
}

TEST_F(StandinPodResources, CountsAListThatComesWhileAPluginIsAsked) {
  std::promise<void> asked;
  std::promise<void> may_answer;
  const auto plugin = plugin_for(kGpu, healthy_devices(1),
                                 {.on_allocate = [&](const auto& request, auto& response) {
                                   asked.set_value();
                                   may_answer.get_future().wait();
                                   return name_devices(request, response);
                                 }});
  auto admitted = std::async(std::launch::async,
                             [&] { return kubelet_->admit(pod_of("p", {{kGpu, 1}})).admitted; });
  asked.get_future().wait();
  list();
  may_answer.set_value();
  EXPECT_TRUE(admitted.get());
  list();
  EXPECT_EQ(kubelet_->pod_resources_counts(),
            (PodResourcesCounts{.lists = 2, .lists_during_calls = 1}));
}

}  // namespace
}  // namespace tranche::testbed::standin
