// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/share_id.h"

#include <gtest/gtest.h>

namespace tranche::core {
namespace {

TEST(ShareId, IsTheDevicesOwnUuidWhereItIsNotReplicated) {
  EXPECT_EQ(share_id("GPU-a", "", std::nullopt), "GPU-a");
  EXPECT_EQ(parse_share_id("GPU-a"), (ParsedShareId{"GPU-a", "", std::nullopt}));
}

TEST(ShareId, NamesAReplicaAsNvidiasPluginDoes) {
  EXPECT_EQ(share_id("GPU-a", "", 12), "GPU-a::12");
  EXPECT_EQ(parse_share_id("GPU-a::12"), (ParsedShareId{"GPU-a", "", 12}));
}

TEST(ShareId, CarriesTheTagOfAResourceOfOurOwn) {
  EXPECT_EQ(share_id("GPU-a", "kq3x", 12), "GPU-a::kq3x-12");
  EXPECT_EQ(parse_share_id("GPU-a::kq3x-12"), (ParsedShareId{"GPU-a", "kq3x", 12}));
  EXPECT_EQ(share_id("GPU-a", "kq3x", std::nullopt), "GPU-a::kq3x");
  EXPECT_EQ(parse_share_id("GPU-a::kq3x"), (ParsedShareId{"GPU-a", "kq3x", std::nullopt}));
}

TEST(ShareId, HoldsTheOldFormOfMigUuids) {
  EXPECT_EQ(parse_share_id("MIG-GPU-a/1/0::3"), (ParsedShareId{"MIG-GPU-a/1/0", "", 3}));
}

TEST(ShareId, RefusesWhatItWouldNotHaveWritten) {
  for (const char* text :
       {"", "::", "::1", "GPU-a::", "GPU-a::x", "GPU-a::01", "GPU-a::-1", "GPU-a::+1",
        "GPU-a::1::2", "GPU-a::99999999999", "GPU-a::kq3", "GPU-a::kq3x-", "GPU-a::kq3x-01",
        "GPU-a::kq3x12", "GPU-a::KQ3X-1", "GPU-a::2q3x-1", "GPU-a::kq3x-1-2"}) {
    EXPECT_EQ(parse_share_id(text), std::nullopt) << text;
  }
}

// These are in kubelets' checkpoints: a change would orphan what pods hold.
TEST(ShareTag, NeverChangesForAName) {
  EXPECT_EQ(share_tag(ResourceName("aliyun.com/gpu-mem")), "jzf4");
  EXPECT_EQ(share_tag(ResourceName("deepomatic.com/shared-gpu")), "slg5");
}

TEST(ShareTag, IsReadBackFromAnId) {
  for (const char* name : {"a.b/c", "nvidia.com/gpumem", "example.com/gpu", "x/y"}) {
    const std::string tag = share_tag(ResourceName(name));
    const std::string id = share_id("GPU-a", tag, 0);
    EXPECT_EQ(parse_share_id(id), (ParsedShareId{"GPU-a", tag, 0})) << id;
  }
}

TEST(AnyShareId, IsAlsoOneOfAnotherSharingPlugin) {
  EXPECT_EQ(parse_any_share_id("GPU-8f1c-_-12"),
            (ParsedShareId{.device = "GPU-8f1c", .replica = 12}));
  EXPECT_EQ(parse_any_share_id("nvidia0-_-1"), (ParsedShareId{.device = "nvidia0", .replica = 1}));
  EXPECT_EQ(parse_any_share_id("GPU-8f1c::3"), parse_share_id("GPU-8f1c::3"));
  EXPECT_EQ(parse_any_share_id("GPU-8f1c"), parse_share_id("GPU-8f1c"));
  EXPECT_EQ(parse_any_share_id("-_-1"), parse_share_id("-_-1"));
  EXPECT_EQ(parse_any_share_id(""), std::nullopt);
}

}  // namespace
}  // namespace tranche::core
