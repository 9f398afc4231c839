// SPDX-License-Identifier: Apache-2.0
#include "sharing/share_id.h"

#include <gtest/gtest.h>

namespace tranche {
namespace {

TEST(ShareId, IsTheDevicesOwnUuidWhereItIsNotReplicated) {
  EXPECT_EQ(share_id("GPU-a", std::nullopt), "GPU-a");
  EXPECT_EQ(parse_share_id("GPU-a"), (ParsedShareId{"GPU-a", std::nullopt}));
}

TEST(ShareId, NamesAReplicaAsNvidiasPluginDoes) {
  EXPECT_EQ(share_id("GPU-a", 12), "GPU-a::12");
  EXPECT_EQ(parse_share_id("GPU-a::12"), (ParsedShareId{"GPU-a", 12}));
}

TEST(ShareId, HoldsTheOldFormOfMigUuids) {
  EXPECT_EQ(parse_share_id("MIG-GPU-a/1/0::3"), (ParsedShareId{"MIG-GPU-a/1/0", 3}));
}

TEST(ShareId, RefusesWhatItWouldNotHaveWritten) {
  for (const char* text : {"", "::", "::1", "GPU-a::", "GPU-a::x", "GPU-a::01", "GPU-a::-1",
                           "GPU-a::+1", "GPU-a::1::2", "GPU-a::99999999999"}) {
    EXPECT_EQ(parse_share_id(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tranche
