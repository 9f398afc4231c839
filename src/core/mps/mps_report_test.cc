// SPDX-License-Identifier: Apache-2.0
#include "core/mps/mps_report.h"

#include <gtest/gtest.h>

namespace tranche::core {
namespace {

TEST(MpsDaemonStatus, SaysForWhomLimitsHold) {
  EXPECT_EQ(MpsDaemonStatus{}.limits_hold_for(), "non-root clients");
  EXPECT_EQ(MpsDaemonStatus{.clients = 2}.limits_hold_for(), "all clients");
  EXPECT_EQ((MpsDaemonStatus{.clients = 2, .sees_clients = false}.limits_hold_for()),
            "non-root clients");
  EXPECT_EQ((MpsDaemonStatus{.clients = 3, .root_clients = {7, 9}}.limits_hold_for()),
            "all clients but 7, 9 (root)");
}

}  // namespace
}  // namespace tranche::core
