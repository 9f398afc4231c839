// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/node_report.h"

#include <gmock/gmock.h>

namespace tranche::node {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const NodeIdentity kNode{"n", "u-1"};

NodeReport a_report() {
  return {.condition_type = "GpusHealthy",
          .condition = {"False", "GpuUnhealthy", "GPU 3"},
          .extended_resources = {{{"aliyun.com/gpu-count", 4}}}};
}

// As the server has it after the report was written.
NodeView written() {
  return {
      .name = "n",
      .uid = "u-1",
      .capacity = {{"cpu", "8"}, {"aliyun.com/gpu-count", "4"}},
      .allocatable = {{"aliyun.com/gpu-count", "4"}},
      .conditions = {{"GpusHealthy", {"False", "GpuUnhealthy", "GPU 3", "2026-01-01T00:00:00Z"}}}};
}

TEST(NodeReport, MakesAGpuNodeThatTheNodeOwns) {
  const Request request = apply_gpu_node(kNode);
  EXPECT_EQ(request.target,
            "/apis/gpu.tranche.dev/v1alpha1/gpunodes/n?fieldManager=tranche-device-plugin&force="
            "true");
  EXPECT_EQ(request.content_type, kApplyPatch);
  const Json body = Json::parse(request.body);
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["uid"], "u-1");
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["kind"], "Node");
}

TEST(NodeReport, WritesTheStatusAsItIs) {
  const Request request = apply_gpu_node_status("n", R"({"gpus":[]})");
  EXPECT_THAT(request.target, StartsWith("/apis/gpu.tranche.dev/v1alpha1/gpunodes/n/status?"));
  EXPECT_EQ(Json::parse(request.body)["status"].dump(), R"({"gpus":[]})");
}

TEST(NodeReport, NamesTheUidSoThatNoOtherNodeIsWritten) {
  EXPECT_EQ(Json::parse(apply_labels(kNode, {{"a", "b"}}).body)["metadata"]["uid"], "u-1");
  EXPECT_EQ(Json::parse(apply_node_status(kNode, a_report(), {}, "t").body)["metadata"]["uid"],
            "u-1");
}

TEST(NodeReport, KeepsTheTimeOfTheLastTransition) {
  const auto transition = [](const NodeView& view) {
    const Json body =
        Json::parse(apply_node_status(kNode, a_report(), view, "2026-11-18T00:00:00Z").body);
    return body["status"]["conditions"][0]["lastTransitionTime"].get<std::string>();
  };
  EXPECT_EQ(transition(written()), "2026-01-01T00:00:00Z");
  NodeView other = written();
  other.conditions["GpusHealthy"].status = "True";
  EXPECT_EQ(transition(other), "2026-11-18T00:00:00Z");
}

TEST(NodeReport, WritesCapacityAndAllocatable) {
  const Json body = Json::parse(apply_node_status(kNode, a_report(), {}, "t").body);
  EXPECT_EQ(body["status"]["capacity"]["aliyun.com/gpu-count"], "4");
  EXPECT_EQ(body["status"]["allocatable"]["aliyun.com/gpu-count"], "4");
}

TEST(NodeReport, LeavesACountThatIsNotKnown) {
  NodeReport report = a_report();
  report.extended_resources = {{{"aliyun.com/gpu-count", std::nullopt}}};
  const NodeView view{.capacity = {{"aliyun.com/gpu-count", "4"}}};
  const Json body = Json::parse(apply_node_status(kNode, report, view, "t").body);
  EXPECT_EQ(body["status"]["capacity"], (Json{{"aliyun.com/gpu-count", "4"}}));
  EXPECT_EQ(body["status"]["allocatable"], Json::object());
  EXPECT_TRUE(has_node_status(written(), report));
}

TEST(NodeReport, NoticesWhatSomebodyElseChanged) {
  EXPECT_TRUE(has_node_status(written(), a_report()));
  NodeView zeroed = written();
  zeroed.capacity["aliyun.com/gpu-count"] = "0";
  EXPECT_FALSE(has_node_status(zeroed, a_report()));
  NodeView gone = written();
  gone.allocatable.clear();
  EXPECT_FALSE(has_node_status(gone, a_report()));
  NodeView other = written();
  other.conditions["GpusHealthy"].message = "x";
  EXPECT_FALSE(has_node_status(other, a_report()));
  EXPECT_TRUE(has_labels({.labels = {{"a", "b"}, {"c", "d"}}}, {{"a", "b"}}));
  EXPECT_FALSE(has_labels({.labels = {{"a", "x"}}}, {{"a", "b"}}));
}

TEST(NodeReport, ComparesQuantitiesAndNotTheirTexts) {
  NodeReport report{.extended_resources = {{{"a.b/c", 12'000}}}};
  NodeView view{.capacity = {{"a.b/c", "12k"}}, .allocatable = {{"a.b/c", "12000"}}};
  EXPECT_TRUE(has_node_status(view, report));
  for (const char* other : {"", "k", "12M", "12ki", "18446744073709551615E", "-12k"}) {
    view.capacity["a.b/c"] = other;
    EXPECT_FALSE(has_node_status(view, report)) << other;
  }
}

}  // namespace
}  // namespace tranche::node
