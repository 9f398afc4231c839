// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::node {
namespace {

using testing::ElementsAre;

v1beta1::ListAndWatchResponse message_of(const DeviceList& list) {
  v1beta1::ListAndWatchResponse message;
  EXPECT_TRUE(message.ParseFromString(encode(list)));
  return message;
}

std::vector<std::string> ids(const v1beta1::ListAndWatchResponse& message) {
  std::vector<std::string> result;
  for (const auto& device : message.devices()) result.push_back(device.id());
  return result;
}

TEST(EncodeList, NamesReplicasInOrder) {
  const auto message = message_of(DeviceList{{.uuid = "GPU-a"}, {.uuid = "GPU-b", .replicas = 2}});
  EXPECT_THAT(ids(message), ElementsAre("GPU-a", "GPU-b::0", "GPU-b::1"));
}

TEST(EncodeList, IsWhatTheMessageOfItsDevicesWouldBe) {
  const std::string bytes =
      encode({{.uuid = "GPU-a", .numa_node = 1},
              {.uuid = "GPU-b", .first = 9, .replicas = 11, .numa_node = 0, .healthy = false}});
  v1beta1::ListAndWatchResponse message;
  ASSERT_TRUE(message.ParseFromString(bytes));
  EXPECT_THAT(ids(message), ElementsAre("GPU-a", "GPU-b::9", "GPU-b::10"));
  EXPECT_EQ(message.SerializeAsString(), bytes);
}

TEST(EncodeList, OfNothingIsAnEmptyMessage) { EXPECT_EQ(encode(DeviceList{}), ""); }

TEST(EncodeList, UsesTheKubeletsWordsForHealth) {
  const auto message =
      message_of(DeviceList{{.uuid = "a", .healthy = true}, {.uuid = "b", .healthy = false}});
  EXPECT_EQ(message.devices(0).health(), "Healthy");
  EXPECT_EQ(message.devices(1).health(), "Unhealthy");
}

TEST(EncodeList, LeavesTheTopologyOutWhereTheNodeIsNotKnown) {
  const auto message = message_of(DeviceList{{.uuid = "a"}, {.uuid = "b", .numa_node = 0}});
  EXPECT_FALSE(message.devices(0).has_topology());
  ASSERT_TRUE(message.devices(1).has_topology());
  EXPECT_EQ(message.devices(1).topology().nodes_size(), 1);
}

TEST(ListBytes, IsWhatTheMessageReallyTakes) {
  Offer offer{.name = ResourceName("nvidia.com/gpu")};
  for (unsigned i = 0; i < 5; ++i) {
    OfferedDevice device{.uuid = "GPU-0000000000000000000000000000000000" + std::to_string(i)};
    if (i > 0) device.numa_node = (i - 1) * 100;  // none, 0, 100, 200, 300
    if (i % 2 == 1) device.replicas = 1234;
    device.health.troubles = {"lost"};
    offer.devices.push_back(std::move(device));
  }
  EXPECT_EQ(list_bytes(offer), encode(list_of(offer, empty_room(offer))).size());
}

TEST(EncodeGrant, CarriesAllOfIt) {
  v1beta1::ContainerAllocateResponse message;
  encode(ContainerGrant{.env = {{"A", "1"}},
                        .mounts = {{"/in", "/out", true}},
                        .nodes = {{"/dev/x", "/host/dev/x", "rw"}},
                        .annotations = {{"k", "v"}},
                        .cdi_devices = {"nvidia.com/gpu=0"}},
         message);
  EXPECT_EQ(message.envs().at("A"), "1");
  EXPECT_EQ(message.mounts(0).container_path(), "/in");
  EXPECT_EQ(message.mounts(0).host_path(), "/out");
  EXPECT_TRUE(message.mounts(0).read_only());
  EXPECT_EQ(message.devices(0).host_path(), "/host/dev/x");
  EXPECT_EQ(message.devices(0).permissions(), "rw");
  EXPECT_EQ(message.annotations().at("k"), "v");
  EXPECT_EQ(message.cdi_devices(0).name(), "nvidia.com/gpu=0");
}

TEST(Towards, IsTheWantedListWhereNothingIsDropped) {
  const DeviceList shown{{.uuid = "a"}, {.uuid = "b", .replicas = 2}};
  const DeviceList wanted{
      {.uuid = "a", .healthy = false}, {.uuid = "b", .replicas = 3}, {.uuid = "c"}};
  EXPECT_EQ(transition_list(shown, wanted), wanted);
}

TEST(Towards, KeepsWhatIsDroppedAsUnhealthy) {
  EXPECT_THAT(transition_list({{.uuid = "a"}, {.uuid = "b"}}, {{.uuid = "b"}}),
              ElementsAre(ListedDevice{.uuid = "a", .healthy = false}, ListedDevice{.uuid = "b"}));
}

TEST(Towards, KeepsReplicasThatAreDroppedAsUnhealthy) {
  const DeviceList list =
      transition_list({{.uuid = "a", .replicas = 4}}, {{.uuid = "a", .replicas = 2}});
  const auto message = message_of(list);
  ASSERT_THAT(ids(message), ElementsAre("a::0", "a::1", "a::2", "a::3"));
  EXPECT_EQ(message.devices(1).health(), "Healthy");
  EXPECT_EQ(message.devices(2).health(), "Unhealthy");
}

TEST(Towards, TakesADeviceAndItsReplicasForDifferentThings) {
  EXPECT_THAT(transition_list({{.uuid = "a"}}, {{.uuid = "a", .replicas = 2}}),
              ElementsAre(ListedDevice{.uuid = "a", .healthy = false},
                          ListedDevice{.uuid = "a", .replicas = 2}));
}

TEST(Towards, GoesOnFromAListThatIsOnTheWayItself) {
  const DeviceList first =
      transition_list({{.uuid = "a", .replicas = 9}}, {{.uuid = "a", .replicas = 5}});
  const DeviceList second = transition_list(first, {{.uuid = "a", .replicas = 2}});
  const auto message = message_of(second);
  EXPECT_EQ(message.devices_size(), 9);
}

TEST(ListOf, IsSortedAndKnowsNothingOfReasons) {
  Offer offer;
  offer.devices = {{.uuid = "GPU-b", .health = {{"XID 79"}}}, {.uuid = "GPU-a"}};
  EXPECT_THAT(
      list_of(offer, empty_room(offer)),
      ElementsAre(ListedDevice{.uuid = "GPU-a"}, ListedDevice{.uuid = "GPU-b", .healthy = false}));
  Offer other = offer;
  other.devices[0].health.troubles = {"GPU is lost"};
  EXPECT_EQ(list_of(offer, empty_room(offer)), list_of(other, empty_room(other)))
      << "another reason is no news for the kubelet";
}

TEST(DeviceList, ShowsWhatOtherNamesTookOffAsUnhealthyAndWhatIsHeldNever) {
  const Offer offer{.devices = {{.uuid = "GPU-a", .replicas = 8, .tag = "tagg"}}};
  EXPECT_THAT(
      list_of(offer, {{{1, 6}, 2}}),  // 1 and 6 are held, two more are free
      ElementsAre(
          ListedDevice{.uuid = "GPU-a", .tag = "tagg", .replicas = 3},
          ListedDevice{.uuid = "GPU-a", .tag = "tagg", .first = 3, .replicas = 6, .healthy = false},
          ListedDevice{.uuid = "GPU-a", .tag = "tagg", .first = 6, .replicas = 7},
          ListedDevice{
              .uuid = "GPU-a", .tag = "tagg", .first = 7, .replicas = 8, .healthy = false}));
}

TEST(DeviceList, ShowsAWholeGpuThatOthersHaveAPartOfAsUnhealthy) {
  const Offer offer{.devices = {{.uuid = "GPU-a"}, {.uuid = "GPU-b"}}};
  EXPECT_THAT(
      list_of(offer, {{{}, 0}, {{0}, 0}}),
      ElementsAre(ListedDevice{.uuid = "GPU-a", .healthy = false}, ListedDevice{.uuid = "GPU-b"}));
}

TEST(DeviceList, OfAnUnhealthyGpuIsUnhealthyHeldOrNot) {
  const Offer offer{
      .devices = {{.uuid = "GPU-a", .replicas = 4, .health = {.troubles = {"lost"}}}}};
  EXPECT_THAT(list_of(offer, {{{1}, 3}}),
              ElementsAre(ListedDevice{.uuid = "GPU-a", .replicas = 4, .healthy = false}));
}

TEST(Towards, KeepsRunsOfNumbersApart) {
  const DeviceList shown{{.uuid = "a", .replicas = 3},
                         {.uuid = "a", .first = 3, .replicas = 9, .healthy = false}};
  const DeviceList wanted{{.uuid = "a", .replicas = 5},
                          {.uuid = "a", .first = 5, .replicas = 9, .healthy = false}};
  EXPECT_EQ(transition_list(shown, wanted), wanted);
  EXPECT_THAT(transition_list(shown, {{.uuid = "a", .replicas = 4}}),
              ElementsAre(ListedDevice{.uuid = "a", .replicas = 4},
                          ListedDevice{.uuid = "a", .first = 4, .replicas = 9, .healthy = false}));
}

}  // namespace
}  // namespace tranche::node
