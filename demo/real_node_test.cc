// SPDX-License-Identifier: Apache-2.0
#include "demo/real_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::demo {
namespace {

using testing::HasSubstr;
using Kubelet = RealNode::Kubelet;

void touch(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path);
}

TEST(RealNode, IsFoundByItsFiles) {
  const TempDir root;
  EXPECT_EQ(look_for_real_node(root.path()), RealNode{});
  touch(root.path("var/lib/kubelet/device-plugins/kubelet.sock"));
  EXPECT_EQ(look_for_real_node(root.path()), (RealNode{"", Kubelet::kPresent}));
  touch(root.path("run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"));
  EXPECT_EQ(look_for_real_node(root.path()).driver_root, "/run/nvidia/driver");
  touch(root.path("usr/lib64/libnvidia-ml.so.1"));
  EXPECT_EQ(look_for_real_node(root.path()), (RealNode{"/", Kubelet::kPresent}));
}

TEST(RealNode, WithDriverAndKubeletIsServedByOneCommand) {
  const auto advice = how_to_serve({"/", Kubelet::kPresent}, "/b/agent");
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_EQ(advice[0].command, "sudo /b/agent devices --driver-root-ctr-path=/");
  EXPECT_EQ(advice[1].command, "sudo /b/agent --driver-root-ctr-path=/");
}

TEST(RealNode, WithADriverContainerNeedsItsRoot) {
  EXPECT_EQ(how_to_serve({"/run/nvidia/driver", Kubelet::kPresent}, "agent").back().command,
            "sudo agent --driver-root=/run/nvidia/driver "
            "--driver-root-ctr-path=/run/nvidia/driver");
}

TEST(RealNode, IsToldWhatItLacks) {
  EXPECT_THAT(how_to_serve({"/", Kubelet::kAbsent}, "agent").back().text,
              HasSubstr("no kubelet (/var/lib/kubelet/device-plugins/kubelet.sock)"));
  EXPECT_THAT(how_to_serve({"/", Kubelet::kHidden}, "agent").back().text,
              HasSubstr("only root can see"));
  EXPECT_THAT(how_to_serve({"", Kubelet::kPresent}, "agent").front().text,
              HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(how_to_serve({"", Kubelet::kAbsent}, "agent").front().text, HasSubstr("neither"));
}

}  // namespace
}  // namespace tranche::demo
