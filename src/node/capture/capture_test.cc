// SPDX-License-Identifier: Apache-2.0
//
// A captured world simulates the node that it was captured from: the agent reads the same from
// both.
#include "node/capture/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/driver/nvml/nvml_source.h"
#include "os/testing/temp_dir.h"
#include "testbed/node/simulated_node.h"
#include "testbed/world/parse.h"
#include "testbed/worlds/builtin.h"

namespace tranche::node {

namespace sim = testbed::sim;
namespace {

using testing::HasSubstr;

class Capture : public testing::Test {
 protected:
  static sim::SimulatedNode a_node(const std::string& root, const sim::World& world) {
    auto made = sim::SimulatedNode::create(root, world, {.plain_files = true});
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }

  static DriverReading read(const sim::SimulatedNode& node) {
    Log quiet([](std::string_view) {});
    nvml::NvmlSource source({.container_root = node.root()}, KernelFiles(node.root()), quiet);
    EXPECT_TRUE(source.open());
    const auto reading = source.read({.links = true, .inforom = true});
    EXPECT_TRUE(reading) << reading.error().message;
    return *reading;
  }

  static std::string capture(const sim::SimulatedNode& node, bool without_names = false) {
    const auto captured = capture_node({.container_root = node.root()}, KernelFiles(node.root()));
    EXPECT_TRUE(captured) << captured.error().message;
    return to_world(without_names ? anonymous(*captured) : *captured);
  }

  TempDir dir_;
};

class CaptureOf : public Capture, public testing::WithParamInterface<std::string> {};

TEST_P(CaptureOf, SimulatesTheNodeItWasTakenFrom) {
  const auto world = sim::builtin_world(GetParam());
  ASSERT_TRUE(world) << world.error().message;
  const sim::SimulatedNode original = a_node(dir_.path("original"), *world);
  const std::string text = capture(original);
  const auto again = sim::parse_world(text, "captured");
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(read(a_node(dir_.path("copy"), *again)), read(original)) << text;
}

INSTANTIATE_TEST_SUITE_P(Worlds, CaptureOf,
                         testing::Values("captured-h200", "hgx-h200", "dgx-a100-mig-mixed",
                                         "dgx1-v100", "a30-mig", "mixed-models", "t4-single",
                                         "gb200-tray"),
                         [](const auto& world) {
                           std::string name = world.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(Capture, CanLeaveOutWhatIdentifiesTheHardware) {
  const auto world = sim::builtin_world("dgx-a100-mig-mixed");
  ASSERT_TRUE(world);
  const std::string text = capture(a_node(dir_.path("node"), *world), true);
  EXPECT_THAT(text, testing::Not(HasSubstr("GPU-")));
  EXPECT_THAT(text, testing::Not(HasSubstr("MIG-")));
  EXPECT_THAT(text, testing::Not(HasSubstr("boot_id")));
  EXPECT_TRUE(sim::parse_world(text, "captured"));
}

TEST_F(Capture, SaysWhatIsInTheWay) {
  const auto captured = capture_node({.container_root = "/nowhere"}, KernelFiles("/nowhere"));
  ASSERT_FALSE(captured);
  EXPECT_THAT(captured.error().message, HasSubstr("libnvidia-ml.so.1"));
}

}  // namespace
}  // namespace tranche::node
