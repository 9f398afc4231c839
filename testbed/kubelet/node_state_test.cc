// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/node_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::testbed::standin {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr Clock::time_point kNow{std::chrono::hours(1)};
constexpr milliseconds kGrace{100};

NodeState connected_state(KubeletVersion version = KubeletVersion::k136) {
  NodeState state;
  EXPECT_TRUE(connect_plugin(state, version, kGpu, {1, "/a.sock", PluginOptions{}, {}}));
  apply_list(state, kGpu, {{"a", "Healthy", {}}, {"b", "Healthy", {1}}, {"c", "Bad", {}}});
  return state;
}

NodeStatus status_of(NodeState& state, Clock::time_point now) {
  NodeStatus status;
  update_status(state, status, now, kGrace);
  return status;
}

TEST(NodeState, CountsHealthyDevicesAsAllocatableAndAllAsCapacity) {
  NodeState state = connected_state();
  EXPECT_EQ(status_of(state, kNow), (NodeStatus{{kGpu, {3, 2}}}));
}

TEST(NodeState, HasNoResourceBeforeItsFirstList) {
  NodeState state;
  ASSERT_TRUE(connect_plugin(state, KubeletVersion::k136, kGpu, {1, "/a.sock", {}, {}}));
  EXPECT_THAT(status_of(state, kNow), IsEmpty());
  EXPECT_FALSE(is_plugin_resource(state, kGpu));
  // Nor after the end of a plugin that sent none, except for the zero.
  disconnect_plugin(state, KubeletVersion::k136, kGpu, "/a.sock", kNow);
  EXPECT_EQ(status_of(state, kNow), (NodeStatus{{kGpu, {0, 0}}}));
  EXPECT_FALSE(is_plugin_resource(state, kGpu));
}

TEST(NodeState, KeepsTheCapacityOfAStoppedPluginForTheGracePeriod) {
  NodeState state = connected_state();
  disconnect_plugin(state, KubeletVersion::k136, kGpu, "/a.sock", kNow);
  EXPECT_EQ(status_of(state, kNow + kGrace), (NodeStatus{{kGpu, {3, 0}}}));
  const auto expiry = next_expiry(state, kGrace).value_or(kNow);
  EXPECT_EQ(status_of(state, expiry), (NodeStatus{{kGpu, {0, 0}}}));
  EXPECT_FALSE(is_plugin_resource(state, kGpu));
  EXPECT_FALSE(next_expiry(state, kGrace));
}

TEST(NodeState, SaysWhenItForgotAResource) {
  NodeState state = connected_state();
  NodeStatus status;
  disconnect_plugin(state, KubeletVersion::k136, kGpu, "/a.sock", kNow);
  EXPECT_FALSE(update_status(state, status, kNow, kGrace));
  EXPECT_TRUE(update_status(state, status, kNow + 2 * kGrace, kGrace));
  EXPECT_FALSE(update_status(state, status, kNow + 2 * kGrace, kGrace));
}

TEST(NodeState, GivesAReturningPluginItsDevicesWithTheNextList) {
  NodeState state = connected_state();
  disconnect_plugin(state, KubeletVersion::k136, kGpu, "/a.sock", kNow);
  ASSERT_TRUE(connect_plugin(state, KubeletVersion::k136, kGpu, {2, "/b.sock", {}, {}}));
  EXPECT_EQ(status_of(state, kNow + 2 * kGrace), (NodeStatus{{kGpu, {3, 0}}}));
  apply_list(state, kGpu, {{"a", "Healthy", {}}});
  EXPECT_EQ(status_of(state, kNow + 2 * kGrace), (NodeStatus{{kGpu, {1, 1}}}));
}

TEST(NodeState, Of136LosesTheResourceWithAnyOfItsPlugins) {
  NodeState state = connected_state();
  ASSERT_TRUE(connect_plugin(state, KubeletVersion::k136, kGpu, {2, "/b.sock", {}, {}}));
  disconnect_plugin(state, KubeletVersion::k136, kGpu, "/a.sock", kNow);
  EXPECT_THAT(state.healthy.at(kGpu), IsEmpty());
  EXPECT_TRUE(state.endpoints.at(kGpu).stopped_at) << "although this is the other plugin's";
}

TEST(NodeState, Of137LosesTheResourceWithTheLastOfItsPlugins) {
  NodeState state = connected_state(KubeletVersion::k137);
  ASSERT_TRUE(connect_plugin(state, KubeletVersion::k137, kGpu, {2, "/b.sock", {}, {}}));
  disconnect_plugin(state, KubeletVersion::k137, kGpu, "/b.sock", kNow);
  EXPECT_THAT(state.healthy.at(kGpu), ElementsAre("a", "b"));
  EXPECT_EQ(state.endpoints.at(kGpu).client, 1U);
  EXPECT_FALSE(state.endpoints.at(kGpu).stopped_at);
  disconnect_plugin(state, KubeletVersion::k137, kGpu, "/a.sock", kNow);
  EXPECT_THAT(state.healthy.at(kGpu), IsEmpty());
  EXPECT_TRUE(state.endpoints.at(kGpu).stopped_at);
}

TEST(NodeState, Of137RefusesASocketThatIsConnected) {
  NodeState state = connected_state(KubeletVersion::k137);
  const Status refused = connect_plugin(state, KubeletVersion::k137, kGpu, {2, "/a.sock", {}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "device plugin already connected: /a.sock");
  EXPECT_EQ(state.endpoints.at(kGpu).client, 1U);
}

TEST(NodeState, FreesTheDevicesOfPodsThatEnded) {
  NodeState state = connected_state();
  state.pods["live"]["main"][kGpu] = {{{-1, {"a"}}}, {}};
  state.pods["gone"]["main"][kGpu] = {{{1, {"b"}}}, {}};
  recount_allocated(state);
  free_inactive(state, {"live"});
  EXPECT_THAT(state.allocated.at(kGpu), ElementsAre("a"));
  EXPECT_EQ(find_allocation(state, "gone", "main", kGpu), nullptr);
  EXPECT_NE(find_allocation(state, "live", "main", kGpu), nullptr);
}

TEST(NodeState, KeepsALostReservationUntilAPodEnds) {
  NodeState state = connected_state();
  state.pods["one"]["main"][kGpu] = {{{-1, {"a"}}}, {}};
  state.allocated[kGpu] = {"a", "b"};
  free_inactive(state, {"one"});
  EXPECT_THAT(state.allocated.at(kGpu), ElementsAre("a", "b"));
  free_inactive(state, {});
  EXPECT_FALSE(state.allocated.contains(kGpu));
}

TEST(NodeState, GroupsDevicesByAllTheirNumaNodes) {
  NodeState state;
  apply_list(state, kGpu, {{"a", "Healthy", {}}, {"b", "Healthy", {0, 1}}, {"c", "Healthy", {1}}});
  const auto groups = group_by_numa(state, kGpu, {"a", "b", "c"});
  EXPECT_EQ(groups, (DevicesPerNuma{{-1, {"a"}}, {0, {"b"}}, {1, {"b", "c"}}}));
  EXPECT_EQ(ids_of(groups.value_or(DevicesPerNuma{})), (Ids{"a", "b", "c"}));
  EXPECT_FALSE(group_by_numa(state, kGpu, {"a", "vanished"}));
}

TEST(NodeState, StartsWithItsResourcesAtZeroAndItsAllocations) {
  NodeState state = state_after_restart({{"uid", {{"main", {{kGpu, {{{0, {"a"}}}, {}}}}}}}},
                                        {kGpu, "example.com/nic"}, kNow);
  EXPECT_EQ(status_of(state, kNow), (NodeStatus{{kGpu, {0, 0}}, {"example.com/nic", {0, 0}}}));
  EXPECT_THAT(state.allocated.at(kGpu), ElementsAre("a"));
  EXPECT_TRUE(state.endpoints.at(kGpu).stopped_at);
  EXPECT_TRUE(is_plugin_resource(state, kGpu));
}

}  // namespace
}  // namespace tranche::testbed::standin
