// SPDX-License-Identifier: Apache-2.0
#include "formats/cdi_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cdi/cdi_spec.h"

namespace tranche::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

CdiSpec with_device(const std::string& name, CdiEdits edits) {
  return {.device_class = "gpu", .devices = {{name, std::move(edits)}}};
}

TEST(CdiSpec, ClaimsNoNewerVersionThanItsFieldsNeed) {
  const CdiDeviceNode node = {.path = "/dev/nvidia0"};
  EXPECT_EQ(cdi_version(with_device("GPU-1", {.nodes = {node}})), "0.3.0");
  EXPECT_EQ(cdi_version(with_device("0", {.nodes = {node}})), "0.5.0");
  const CdiDeviceNode elsewhere = {.path = "/dev/nvidia0", .host_path = "/run/dev/nvidia0"};
  EXPECT_EQ(cdi_version(with_device("GPU-1", {.nodes = {elsewhere}})), "0.5.0");
  EXPECT_EQ(cdi_version(with_device("GPU-1", {.additional_gids = {44}})), "0.7.0");

  CdiSpec common = with_device("GPU-1", {.nodes = {node}});
  common.common.nodes = {elsewhere};
  EXPECT_EQ(cdi_version(common), "0.5.0");
  common.common.additional_gids = {44};
  EXPECT_EQ(cdi_version(common), "0.7.0");
}

TEST(CdiSpec, NodesAndMountsAreSortedByDepthThenPath) {
  const CdiEdits edits = normalised(
      {.nodes = {{.path = "/dev/dri/card0"}, {.path = "/dev/nvidiactl"}, {.path = "/dev/nvidia0"}},
       .mounts = {{.container_path = "/usr/lib64/b"}, {.container_path = "/a"}}});
  EXPECT_THAT(edits.nodes, ElementsAre(Field(&CdiDeviceNode::path, "/dev/nvidia0"),
                                       Field(&CdiDeviceNode::path, "/dev/nvidiactl"),
                                       Field(&CdiDeviceNode::path, "/dev/dri/card0")));
  EXPECT_THAT(edits.mounts, ElementsAre(Field(&CdiMount::container_path, "/a"),
                                        Field(&CdiMount::container_path, "/usr/lib64/b")));
}

TEST(CdiSpec, OfTwoMountsToOnePlaceTheFirstStays) {
  const CdiEdits edits = normalised(
      {.mounts = {{"/etc/x", "/usr/share/x", {}}, {"/usr/share/x", "/usr/share/x", {}}}});
  EXPECT_THAT(edits.mounts, ElementsAre(Field(&CdiMount::host_path, "/etc/x")));
}

TEST(CdiSpec, MergingKeepsEachThingOnce) {
  const CdiHook hook = {.stage = "createContainer", .path = "/h"};
  const CdiEdits one = {
      .env = {"A=1"}, .nodes = {{.path = "/dev/a"}}, .hooks = {hook}, .additional_gids = {44}};
  const CdiEdits two = {
      .env = {"A=1"}, .nodes = {{.path = "/dev/b"}}, .hooks = {hook}, .additional_gids = {44, 27}};
  const CdiEdits both = merged({one, two});
  EXPECT_THAT(both.env, ElementsAre("A=1"));
  EXPECT_THAT(both.hooks, ElementsAre(hook));
  EXPECT_EQ(both.nodes.size(), 2U);
  EXPECT_THAT(both.additional_gids, ElementsAre(27U, 44U));
}

TEST(CdiSpec, EditsThatOnlyAddAGroupAreNotEmpty) {
  EXPECT_TRUE(CdiEdits{}.empty());
  EXPECT_FALSE(CdiEdits{.additional_gids = {44}}.empty());
}

TEST(CdiJson, WritesOnlyFieldsThatSaySomething) {
  CdiSpec spec = with_device(
      "0", {.nodes = {{"/dev/nvidia0", "/run/dev/nvidia0", 195, 0, 0660, 44}, {.path = "/dev/x"}},
            .hooks = {{"createContainer", "/usr/bin/nvidia-ctk", {"nvidia-ctk", "hook"}, {"A=b"}}},
            .mounts = {{"/host", "/container", {"ro"}}},
            .additional_gids = {44}});
  const Result<std::string> text = cdi_json(spec);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, R"({
  "cdiVersion": "0.7.0",
  "kind": "k8s.device-plugin.nvidia.com/gpu",
  "devices": [
    {
      "name": "0",
      "containerEdits": {
        "deviceNodes": [
          {
            "path": "/dev/nvidia0",
            "hostPath": "/run/dev/nvidia0",
            "major": 195,
            "minor": 0,
            "fileMode": 432,
            "permissions": "rwm",
            "gid": 44
          },
          {
            "path": "/dev/x",
            "major": 0,
            "minor": 0,
            "permissions": "rwm"
          }
        ],
        "hooks": [
          {
            "hookName": "createContainer",
            "path": "/usr/bin/nvidia-ctk",
            "args": [
              "nvidia-ctk",
              "hook"
            ],
            "env": [
              "A=b"
            ]
          }
        ],
        "mounts": [
          {
            "hostPath": "/host",
            "containerPath": "/container",
            "options": [
              "ro"
            ]
          }
        ],
        "additionalGids": [
          44
        ]
      }
    }
  ],
  "containerEdits": {}
}
)");
}

TEST(CdiJson, APathThatIsNotUtf8IsAnErrorAndNotAnotherPath) {
  const Result<std::string> text =
      cdi_json(with_device("GPU-1", {.mounts = {{"/lib\xff", "/lib\xff", {}}}}));
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, testing::HasSubstr("class gpu"));
}

}  // namespace
}  // namespace tranche::formats
