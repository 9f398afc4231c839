// SPDX-License-Identifier: Apache-2.0
#include "core/health/what_clears.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/health/xid_table.h"

namespace tranche::core {
namespace {

using testing::HasSubstr;

Fault xid(unsigned number) {
  return {.kind = FaultKind::kXid, .xid = number, .clearance = xid_facts(number).clearance};
}

Fault condition(FaultKind kind) { return {.kind = kind, .clearance = Clearance::kCondition}; }

TEST(WhatClears, SaysWhatAnOperatorHasToDo) {
  EXPECT_EQ(what_clears(xid(119)), "a reset of the GPU or a reboot of the node");
  EXPECT_EQ(what_clears(xid(167)), "a reboot of the node");
  EXPECT_EQ(what_clears(xid(63)),
            "no row remap or page retirement is pending any more, as after a reset of the GPU");
  EXPECT_THAT(what_clears(xid(94)), HasSubstr("nothing to do"));
  EXPECT_THAT(what_clears(xid(64)), HasSubstr("the card has to be replaced"));
  EXPECT_THAT(what_clears(xid(74)), HasSubstr("NVLink"));
  EXPECT_THAT(what_clears(condition(FaultKind::kFabric)), HasSubstr("fabric manager"));
  EXPECT_THAT(what_clears(condition(FaultKind::kLost)), HasSubstr("taken out or replaced"));
}

TEST(WhatClears, IsOneSentenceForEveryClassAndCondition) {
  for (int each = 0; parse_clearance(to_string(Clearance(each))); ++each) {
    const std::string text = what_clears({.clearance = Clearance(each)});
    EXPECT_FALSE(text.empty());
    EXPECT_NE(text.back(), '.');
  }
  for (int each = 0; parse_fault_kind(to_string(FaultKind(each))); ++each) {
    EXPECT_FALSE(what_clears(condition(FaultKind(each))).empty());
  }
}

}  // namespace
}  // namespace tranche::core
