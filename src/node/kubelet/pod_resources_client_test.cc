// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/pod_resources_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <optional>

#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "os/unique_fd.h"
#include "podresources_v1.grpc.pb.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kGpu = "nvidia.com/gpu";

// Answers with `status` or the given pods.
class Service final : public v1::PodResourcesLister::Service {
 public:
  grpc::Status List(grpc::ServerContext* /*context*/,
                    const v1::ListPodResourcesRequest* /*request*/,
                    v1::ListPodResourcesResponse* response) override {
    if (hangs) hangs->get_future().wait();
    *response = answer;
    return status;
  }
  grpc::Status Get(grpc::ServerContext* context, const v1::GetPodResourcesRequest* request,
                   v1::GetPodResourcesResponse* response) override {
    if (!has_get) return v1::PodResourcesLister::Service::Get(context, request, response);
    for (const v1::PodResources& pod : answer.pod_resources()) {
      if (pod.name() == request->pod_name() && pod.namespace_() == request->pod_namespace()) {
        *response->mutable_pod_resources() = pod;
      }
    }
    return status;
  }

  v1::ListPodResourcesResponse answer;
  grpc::Status status;
  bool has_get = true;
  std::optional<std::promise<void>> hangs;  // until it is kept
};

class PodResources : public testing::Test {
 protected:
  // Without this the library shuts down with the last object that uses it, and
  // that waits up to ten seconds for a poller which a large message started.
  PodResources() { grpc_init(); }

  void serve() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + dir_.path("s"), grpc::InsecureServerCredentials());
    builder.SetMaxSendMessageSize(-1);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }

  void hold(const std::string& pod, const std::string& resource, const std::string& id) {
    v1::PodResources& added = *service_.answer.add_pod_resources();
    added.set_namespace_("default");
    added.set_name(pod);
    v1::ContainerResources& container = *added.add_containers();
    container.set_name("main");
    v1::ContainerDevices& devices = *container.add_devices();
    devices.set_resource_name(resource);
    devices.add_device_ids(id);
  }

  ErrorCode code_of_get() {
    const auto pod = client_.get("default", "a", {});
    EXPECT_FALSE(pod);
    return pod ? ErrorCode::kInternal : pod.error().code;
  }

  TempDir dir_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
  const PodResourcesClient client_{dir_.path("s")};
};

TEST(PodResourcesAnswer, IsReadAsKubeletsGaveIt) {
  const std::string a = "GPU-e1f1a7b9-1c65-4415-bb7b-5078b75ef51a";
  const std::string b = "GPU-15ad090c-bba8-4eae-bb58-574c99cd2b90";
  const std::string c = "GPU-749de1b4-7f97-4a06-a3b7-f7f542e6182b";
  for (const std::string version : {"1.36", "1.33"}) {
    const auto bytes = read_file(TRANCHE_TESTDATA "/kubelet-" + version + "/pod-resources-list");
    ASSERT_TRUE(bytes) << bytes.error().message;
    v1::ListPodResourcesResponse response;
    ASSERT_TRUE(response.ParseFromString(*bytes));
    std::vector<Holding> holdings;
    for (const auto& pod : response.pod_resources()) add_holdings(pod, {kGpu}, holdings);
    // The kubelet lists one entry per device, and none for the plain pod and for the init container
    // that held two of them.
    EXPECT_THAT(holdings, ElementsAre(Holding{kGpu, {"default", "train", "", "main"}, {a}},
                                      Holding{kGpu, {"default", "train", "", "side"}, {b, c}}));
  }
}

TEST_F(PodResources, ListKeepsTheResourcesThatAreNamed) {
  hold("b", kGpu, "2");
  hold("a", kGpu, "1");
  hold("c", "example.com/nic", "3");
  serve();
  const auto some = client_.list({kGpu});
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_THAT(*some, ElementsAre(Holding{kGpu, {"default", "a", "", "main"}, {"1"}},
                                 Holding{kGpu, {"default", "b", "", "main"}, {"2"}}));
  const auto all = client_.list({});
  ASSERT_TRUE(all);
  EXPECT_THAT(*all, SizeIs(3));
}

TEST_F(PodResources, AListBeyondGrpcsOwnLimitIsRead) {
  hold("a", kGpu, std::string(20U << 20U, 'x'));
  serve();
  const auto list = client_.list({});
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(*list, SizeIs(1));
}

TEST_F(PodResources, AnAnswerWithoutEndIsAnErrorAndNotRead) {
  hold("a", kGpu, std::string((64U << 20U) + 1, 'x'));
  serve();
  const auto list = client_.list({});
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, ErrorCode::kUnavailable);
}

TEST_F(PodResources, AServiceThatNeverAnswersIsUnavailable) {
  service_.hangs.emplace();
  serve();
  const PodResourcesClient client(dir_.path("s"), std::chrono::milliseconds(50));
  const auto list = client.list({});
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, ErrorCode::kUnavailable);
  service_.hangs->set_value();
}

// The kernel accepts the connection, but no process serves it.
TEST_F(PodResources, ASocketThatNobodyServesIsUnavailable) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket = dir_.path("s");
  std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(fd.get(), 1), 0);
  const PodResourcesClient client(socket, std::chrono::milliseconds(50));
  const auto list = client.list({});
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, ErrorCode::kUnavailable);
}

TEST_F(PodResources, AServiceThatIsNotThereIsUnavailable) {
  const auto list = client_.list({});
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(list.error().message, HasSubstr(dir_.path("s")));
  EXPECT_EQ(code_of_get(), ErrorCode::kUnavailable);
}

TEST_F(PodResources, AServiceThatComesBackIsAskedAtOnce) {
  ASSERT_FALSE(client_.list({}));
  serve();
  EXPECT_TRUE(client_.list({}));
  server_->Shutdown();
  server_.reset();
  ASSERT_FALSE(client_.list({}));
  serve();
  EXPECT_TRUE(client_.list({}));
}

TEST_F(PodResources, AListThatIsRefusedIsAnError) {
  service_.status = {grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"};
  serve();
  const auto list = client_.list({});
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(list.error().message, HasSubstr("rate limit"));
}

TEST_F(PodResources, ACallEndsWhenItIsAskedTo) {
  serve();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(client_.list({}, stop.get_token()));
}

TEST_F(PodResources, GetTellsWhatOnePodHolds) {
  hold("a", kGpu, "1");
  hold("b", kGpu, "2");
  serve();
  const auto pod = client_.get("default", "b", {});
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_THAT(*pod, ElementsAre(Holding{kGpu, {"default", "b", "", "main"}, {"2"}}));
}

TEST_F(PodResources, GetTellsAnUnknownPodFromAKubeletWithoutGet) {
  serve();
  // The text of 1.36.
  service_.status = {grpc::StatusCode::UNKNOWN, "pod a in namespace default not found"};
  EXPECT_EQ(code_of_get(), ErrorCode::kNotFound);
  // The text of 1.33.
  service_.status = {grpc::StatusCode::UNKNOWN, "PodResources API Get method disabled"};
  EXPECT_EQ(code_of_get(), ErrorCode::kInvalidArgument);
  service_.status = {grpc::StatusCode::UNKNOWN, "something else"};
  EXPECT_EQ(code_of_get(), ErrorCode::kUnavailable);
  service_.has_get = false;
  EXPECT_EQ(code_of_get(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tranche::node
