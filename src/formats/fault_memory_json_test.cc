// SPDX-License-Identifier: Apache-2.0
#include "formats/fault_memory_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"

namespace tranche::formats {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

NodeState with_faults() {
  NodeState state;
  Gpu cut = a_cut_gpu(1, {k1g10gb, MigProfile{1, 1, 10, "+me"}});
  cut.numa_node = 1;
  state.inventory = an_inventory({a_gpu(0), cut});
  state.session = 7;
  state.vitals[GpuUuid("GPU-1")] = {.uncorrected_ecc = 2,
                                    .energy_mj = 99,
                                    .pcie_replays = 1,
                                    .remap_failed = true,
                                    .persistence = true};
  state.recoveries[GpuUuid("GPU-1")] = {100, 200};
  state.faults = {{.gpu = GpuUuid("GPU-1"),
                   .kind = FaultKind::kXid,
                   .xid = 79,
                   .text = "XID 79: the GPU fell off the bus",
                   .clearance = Clearance::kReset,
                   .boot_id = "b1",
                   .session = 7,
                   .binding = 4711,
                   .links = {0, 3},
                   .driver_asked = true,
                   .reset_asked = 7,
                   .passed = 3,
                   .needed = 4},
                  {.gpu = GpuUuid("GPU-1"),
                   .slice = MigUuid("MIG-1-0"),
                   .kind = FaultKind::kXid,
                   .xid = 94,
                   .text = "XID 94",
                   .boot_id = "b1"}};
  return state;
}

TEST(FaultMemory, KeepsFaultsAndTheGpusTheyAreOf) {
  const NodeState before = with_faults();
  const Result<NodeState> after = parse_fault_memory(to_fault_memory(before));
  ASSERT_TRUE(after) << after.error().message;
  ASSERT_THAT(after->inventory.gpus, SizeIs(1));
  EXPECT_EQ(after->inventory.gpus[0], before.inventory.gpus[1]);
  EXPECT_EQ(after->vitals, before.vitals);
  EXPECT_EQ(after->recoveries, before.recoveries);
  ASSERT_THAT(after->faults, SizeIs(2));
  EXPECT_EQ(after->faults[0].xid, 79U);
  EXPECT_EQ(after->faults[0].clearance, Clearance::kReset);
  EXPECT_EQ(after->faults[0].binding, 4711U);
  EXPECT_EQ(after->faults[0].links, (std::set<unsigned>{0, 3}));
  EXPECT_EQ(after->faults[0].reset_asked, 0U) << "before every session to come";
  EXPECT_TRUE(after->faults[0].action_tells);
  EXPECT_EQ(after->faults[1].slice, MigUuid("MIG-1-0"));
  EXPECT_EQ(after->faults[1].reset_asked, std::nullopt);
}

// It wrote "recovery" for XIDs that the recovery action does not cover.
TEST(FaultMemory, HoldsFaultsOfAnEarlierVersionToWhatIsKnownNow) {
  const Result<NodeState> after = parse_fault_memory(R"({"version": 1, "gpus": [], "faults": [
    {"gpu": "GPU-1", "kind": "xid", "xid": 46, "text": "XID 46", "clearedBy": "recovery",
     "bootId": "b1", "driverAsked": false, "resetSeen": false, "readingsNeeded": 1}]})");
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->faults[0].clearance, Clearance::kReset);
  EXPECT_FALSE(after->faults[0].action_tells);
}

TEST(FaultMemory, TakesTheDriversNextWordAsSaidInAFreshSession) {
  const Result<NodeState> after = parse_fault_memory(to_fault_memory(with_faults()));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->session, 0U);
  EXPECT_EQ(after->faults[0].session, 0U);
  EXPECT_EQ(after->faults[0].passed, 0U);
}

TEST(FaultMemory, IsEmptyWhereNothingIsWrong) {
  NodeState healthy;
  healthy.inventory = a_node(8);
  const Result<NodeState> after = parse_fault_memory(to_fault_memory(healthy));
  ASSERT_TRUE(after);
  EXPECT_THAT(after->inventory.gpus, IsEmpty());
}

TEST(FaultMemory, RefusesWhatItDidNotWrite) {
  for (const char* text : {"", "{", "[]", "null", "{}", R"({"version":2,"gpus":[],"faults":[]})",
                           R"({"version":1,"gpus":[{}],"faults":[]})",
                           R"({"version":1,"gpus":[],"faults":[{"gpu":3}]})",
                           R"({"version":1,"gpus":7,"faults":[1]})"}) {
    EXPECT_FALSE(parse_fault_memory(text)) << text;
  }
}

TEST(FaultMemory, RefusesANumberThatIsNoneInsteadOfRoundingIt) {
  const auto with = [](const std::string& version, const std::string& recovery) {
    NodeState state = with_faults();
    for (const Gpu& gpu : state.inventory.gpus) state.recoveries[gpu.uuid] = {123456789};
    std::string text = to_fault_memory(state);
    text.replace(text.find("123456789"), 9, recovery);
    return parse_fault_memory(
        text.replace(text.find("\"version\": 1"), 12, "\"version\": " + version));
  };
  EXPECT_TRUE(with("1", "123456789"));
  EXPECT_FALSE(with("4294967297", "123456789"));
  EXPECT_FALSE(with("1", "1e30"));
  EXPECT_FALSE(with("1", "1.5"));
}

TEST(FaultMemory, SurvivesTextThatIsNoUtf8) {
  NodeState state = with_faults();
  state.faults[0].text = "bad \xff byte";
  EXPECT_TRUE(parse_fault_memory(to_fault_memory(state)));
}

}  // namespace
}  // namespace tranche::formats
