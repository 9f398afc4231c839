// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/node_view.h"

#include <gtest/gtest.h>

namespace tranche::node {
namespace {

Json sample() {
  return Json::parse(R"({
    "metadata": {"name": "a", "uid": "u-1", "labels": {"zone": "x", "odd": 3},
                 "managedFields": [{}], "annotations": {"k": "v"}},
    "spec": {"podCIDR": "10.0.0.0/24"},
    "status": {
      "capacity": {"cpu": "8", "aliyun.com/gpu-count": "4"},
      "allocatable": {"cpu": "7500m"},
      "images": [{"names": ["a"]}],
      "conditions": [
        {"type": "GpusHealthy", "status": "False", "reason": "GpuUnhealthy", "message": "one",
         "lastTransitionTime": "2026-11-18T00:00:00Z"},
        {"status": "True"}, 7]}})");
}

TEST(NodeView, HasWhatTheAgentUses) {
  const NodeView view = node_view(sample());
  EXPECT_EQ(view.name, "a");
  EXPECT_EQ(view.uid, "u-1");
  EXPECT_EQ(view.labels, (std::map<std::string, std::string>{{"zone", "x"}}));
  EXPECT_EQ(view.capacity.at("aliyun.com/gpu-count"), "4");
  EXPECT_EQ(view.allocatable.at("cpu"), "7500m");
  ASSERT_EQ(view.conditions.size(), 1U);
  EXPECT_EQ(view.conditions.at("GpusHealthy"),
            (NodeConditionView{"False", "GpuUnhealthy", "one", "2026-11-18T00:00:00Z"}));
}

TEST(NodeView, IsTheSameOfAStrippedNode) {
  Json stripped = sample();
  strip_node(stripped);
  EXPECT_EQ(node_view(stripped), node_view(sample()));
  EXPECT_FALSE(stripped.contains("spec"));
  EXPECT_FALSE(stripped["status"].contains("images"));
  EXPECT_FALSE(stripped["metadata"].contains("managedFields"));
}

TEST(NodeView, IsEmptyOfAnythingElse) {
  for (const char* text : {"null", "[]", "3", R"({"metadata": 1, "status": []})",
                           R"({"status": {"conditions": {}, "capacity": "x"}})"}) {
    Json odd = Json::parse(text);
    EXPECT_EQ(node_view(odd), NodeView{}) << text;
    strip_node(odd);
  }
}

}  // namespace
}  // namespace tranche::node
