// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testbed/world/changes.h"
#include "testbed/worlds/builtin.h"

namespace tranche::testbed::sim {
namespace {

using ::testing::HasSubstr;

World parsed(const std::string& text) {
  Result<World> world = parse_world(text, "w.yaml");
  EXPECT_TRUE(world) << world.error().message;
  return world ? *world : World{};
}

std::string problem(const std::string& text) {
  const Result<World> world = parse_world(text, "w.yaml");
  return world ? "" : world.error().message;
}

TEST(ParseWorld, NeedsNoMoreThanAModel) {
  const World world = parsed("gpus: [{model: h100-sxm, count: 2}]");
  ASSERT_EQ(world.gpus.size(), 2U);
  EXPECT_EQ(world.gpus[0].model.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(world.gpus[0].model.memory_mib, 81559U);
  EXPECT_EQ(world.gpus[1].minor, 1U);
  EXPECT_NE(world.gpus[0].uuid, world.gpus[1].uuid);
  EXPECT_EQ(world, parsed("gpus: [{model: h100-sxm, count: 2}]"));
}

TEST(ParseWorld, TakesAnyValueOfTheModelFromTheFile) {
  const World world =
      parsed("gpus: [{model: t4, name: Odd T4, memory_mib: 1000, device_id: 0x1eb9}]");
  EXPECT_EQ(world.gpus[0].model.name, "Odd T4");
  EXPECT_EQ(world.gpus[0].model.memory_mib, 1000U);
  EXPECT_EQ(world.gpus[0].model.device_id, 0x1eb9U);
  EXPECT_EQ(world.gpus[0].model.cores, 2560U);
}

TEST(ParseWorld, NamesTheLineAndTheNearestKey) {
  EXPECT_EQ(problem("gpus:\n  - model: t4\n    uudi: GPU-1\n"),
            "w.yaml:3: unknown key gpus[0].uudi; did you mean 'uuid'?");
  EXPECT_EQ(problem("driver: {versoin: 1}\ngpus: []\n"),
            "w.yaml:1: unknown key driver.versoin; did you mean 'version'?");
}

TEST(ParseWorld, RefusesWhatIsWrong) {
  EXPECT_THAT(problem("gpus: [{model: h100-smx}]"), HasSubstr("did you mean 'h100-sxm'?"));
  EXPECT_THAT(problem("gpus: [{model: t4, model: t4}]"), HasSubstr("gpus[0].model is given twice"));
  EXPECT_THAT(problem("gpus: [{model: t4, minor: x}]"), HasSubstr("'x' is no number"));
  EXPECT_THAT(problem("gpus: [{model: t4, pci: 7}]"), HasSubstr("no PCI address"));
  EXPECT_THAT(problem("gpus: [{model: t4, state: dead}]"), HasSubstr("none of present, lost"));
  EXPECT_THAT(problem("gpus: [{model: t4, count: 17}]"), HasSubstr("more than 16"));
  EXPECT_THAT(problem("gpus: [{name: x, pci: '0:2:0'}, {name: y, pci: '0:1:0'}]"),
              HasSubstr("order of their PCI addresses"));
  EXPECT_THAT(problem("gpus: [{model: t4, minor: 1}, {model: t4}]"), HasSubstr("minor is taken"));
  EXPECT_THAT(problem("gpus: [{model: t4, mig: {layout: [1g.5gb]}}]"), HasSubstr("has no MIG"));
  EXPECT_THAT(problem("gpus: [{model: a30, mig: {layout: [9g]}}]"), HasSubstr("which has 1g.6gb"));
  EXPECT_THAT(problem("gpus: [{model: t4}]\nfaults: [{call: nvmlX, code: gpu_is_lots}]"),
              HasSubstr("did you mean 'gpu_is_lost'?"));
  EXPECT_THAT(problem("gpus: [{model: t4}]\nfaults: [{call: nvmlX, gpu: 1, code: 15}]"),
              HasSubstr("no gpu 1"));
  EXPECT_THAT(problem("gpus: [{model: t4, reserved_mib: 99999}]"), HasSubstr("is reserved"));
  EXPECT_THAT(
      problem(
          "gpus: [{name: x, mig_table: {units: 1, profiles: [{name: a}]}, mig: {layout: [a]}}]"),
      HasSubstr("has no size"));
  EXPECT_THAT(problem("gpus: {"), HasSubstr("w.yaml:"));
  EXPECT_THAT(problem("{}"), HasSubstr("needs gpus"));
}

TEST(ParseWorld, KnowsSwitchesBridgesAndNodes) {
  const World world = parsed(R"(
gpus: [{model: l4, count: 6}]
pcie:
  boards: [[0, 1]]
  switches: [[1, 2]]
  upstream: [[1, 2, 3]]
  bridges: [[3, 4]]
  nodes: [{gpus: [0, 1, 2, 3, 4], numa: 0}, {gpus: [5], numa: 1}]
)");
  const auto level = [&](std::size_t a, std::size_t b) {
    return level_between(world, world.gpus[a], world.gpus[b]);
  };
  EXPECT_EQ(level(0, 1), PcieLevel::kBoard);
  EXPECT_EQ(level(1, 2), PcieLevel::kSwitch);
  EXPECT_EQ(level(2, 3), PcieLevel::kSwitches);
  EXPECT_EQ(level(3, 4), PcieLevel::kBridge);
  EXPECT_EQ(level(0, 4), PcieLevel::kNode);
  EXPECT_EQ(level(4, 5), PcieLevel::kSystem);
  EXPECT_EQ(level(5, 4), PcieLevel::kSystem);
}

TEST(ParseWorld, TakesAMatrixAsItIsPrinted) {
  const World world = parsed("gpus: [{model: l4, count: 2}]\npcie: {matrix: [[X, PHB], [PHB, X]]}");
  EXPECT_EQ(level_between(world, world.gpus[1], world.gpus[0]), PcieLevel::kBridge);
}

TEST(ParseWorld, ConnectsPairsBothWays) {
  const World world = parsed("gpus: [{model: a40, count: 2}]\nnvlink: {pairs: [[0, 1, 4]]}");
  ASSERT_EQ(world.gpus[0].links.size(), 4U);
  EXPECT_EQ(world.gpus[0].links[3], (NvLink{NvLink::Peer::kGpu, world.gpus[1].pci}));
  EXPECT_EQ(world.gpus[1].links[0], (NvLink{NvLink::Peer::kGpu, world.gpus[0].pci}));
}

TEST(EmitWorld, WritesWhatReadsBackEqual) {
  for (const BuiltinText& builtin : builtin_texts()) {
    const Result<World> world = builtin_world(builtin.name);
    ASSERT_TRUE(world) << world.error().message;
    const Result<World> again = parse_world(emit_world(*world), "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, *world) << emit_world(*world);
  }
}

TEST(EmitWorld, NeedsNoModelTable) {
  for (const BuiltinText& builtin : builtin_texts()) {
    World world = *builtin_world(builtin.name);
    for (Gpu& gpu : world.gpus) gpu.model_key.clear();
    const Result<World> again = parse_world(emit_world(world), "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, world) << builtin.name;
  }
}

TEST(EmitWorld, KeepsWhatHappened) {
  Result<World> world = all_of({
      raise_xid(0, {.number = 48, .gpu_instance = 1, .compute_instance = 0}),
      uncorrectable_ecc(1),
      set_processes(
          2, {{.pid = 7, .name = "a \"b\": #c\\\n\t\x01ä", .memory_mib = 12, .gpu_instance = 3}}),
      block_call("nvmlDeviceGetName", GpuRef(3)),
      fail_call({.call = "nvmlInit", .code = 9, .times = 2}),
      lose(4),
      set_link(5, 3, false),
      remove_mig_device(7, 1),
      edit_gpu(6, [](Gpu& gpu) { gpu.memory_limits = {{"/a/b", 1, 2, 3}}; }),
      edit_gpu(6, [](Gpu& gpu) { gpu.model.mig.profiles.pop_back(); }),
      set_module_version("1.2.3"),
  })(*builtin_world("dgx-a100-mig-mixed"));
  ASSERT_TRUE(world) << world.error().message;
  const Result<World> again = parse_world(emit_world(*world), "again");
  ASSERT_TRUE(again) << again.error().message << emit_world(*world);
  EXPECT_EQ(*again, *world) << emit_world(*world);
}

}  // namespace
}  // namespace tranche::testbed::sim
