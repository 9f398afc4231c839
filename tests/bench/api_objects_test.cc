// SPDX-License-Identifier: Apache-2.0
#include "bench/api_objects.h"

#include <gtest/gtest.h>

namespace tranche::bench {
namespace {

using nlohmann::json;

constexpr const char* kNode = "/api/v1/nodes/n";
constexpr const char* kGpuNode = "/apis/gpu.tranche.dev/v1alpha1/gpunodes/n";

TEST(ApiObjects, HaveANodeAsLargeAsARealOne) {
  const ApiObjects objects("n");
  EXPECT_EQ(objects.node()["metadata"]["name"], "n");
  EXPECT_GT(objects.node().dump().size(), 18'000U);
  EXPECT_LT(objects.node().dump().size(), 25'000U);
}

TEST(ApiObjects, KeepWhatIsAppliedToTheNode) {
  ApiObjects objects("n");
  const int before = objects.node_version();
  EXPECT_FALSE(objects.is_node_written());
  ASSERT_TRUE(objects.write("PATCH", kNode, {{"metadata", {{"labels", {{"a", "b"}}}}}}));
  const json condition{{"type", "GpusHealthy"}, {"status", "True"}};
  const json status{{"status", {{"conditions", json::array({condition})}}}};
  ASSERT_TRUE(objects.write("PATCH", std::string(kNode) + "/status", status));
  ASSERT_TRUE(objects.write("PATCH", std::string(kNode) + "/status", status));
  EXPECT_TRUE(objects.is_node_written());
  EXPECT_EQ(objects.node()["metadata"]["labels"]["a"], "b");
  EXPECT_EQ(objects.node()["status"]["conditions"].size(), 5U);
  EXPECT_EQ(objects.node()["status"]["conditions"].back(), condition);
  EXPECT_EQ(objects.node_version(), before + 3);
}

TEST(ApiObjects, CountTheHoldersOfTheGpuNode) {
  ApiObjects objects("n");
  EXPECT_EQ(objects.holders(), 0U);
  ASSERT_TRUE(objects.write("PATCH", kGpuNode, {{"kind", "GpuNode"}}));
  const json status{{"status", {{"holders", {{{"pod", "a"}}, {{"pod", "b"}}}}}}};
  const auto written = objects.write("PATCH", std::string(kGpuNode) + "/status", status);
  ASSERT_TRUE(written);
  EXPECT_EQ((*written)["kind"], "GpuNode");
  EXPECT_EQ(objects.holders(), 2U);
}

TEST(ApiObjects, TakeEventsAndRefuseWhatTheyDoNotKnow) {
  ApiObjects objects("n");
  EXPECT_TRUE(objects.write("POST", "/apis/events.k8s.io/v1/namespaces/default/events",
                            {{"reason", "GpuUnhealthy"}}));
  EXPECT_FALSE(objects.write("PATCH", "/api/v1/nodes/other", json::object()));
  EXPECT_FALSE(objects.write("DELETE", kNode, json::object()));
}

}  // namespace
}  // namespace tranche::bench
