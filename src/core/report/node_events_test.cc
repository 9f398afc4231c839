// SPDX-License-Identifier: Apache-2.0
#include "core/report/node_events.h"

#include <gmock/gmock.h>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<NodeEvent>& events) {
  std::vector<std::string> texts;
  for (const NodeEvent& event : events) {
    texts.push_back((event.pod.pod.empty() ? "node " : event.pod.pod + " ") +
                    (event.is_warning ? "W " : "N ") + event.reason + " " + event.subject);
  }
  return texts;
}

class NodeEvents : public testing::Test {
 protected:
  std::vector<NodeEvent> take() { return events_.take(node_, offer(node_, {}), &ledger_); }

  Inventory node_ = a_node(2);
  Ledger ledger_{.holdings = {{"nvidia.com/gpu", {"ml", "train", "uid-1", "main"}, {"GPU-1"}},
                              {"nvidia.com/gpu", {"", "", "uid-2", "main"}, {"GPU-0"}}}};
  InventoryEvents events_;
};

TEST_F(NodeEvents, AreNoneForGpusThatAreFoundHealthy) { EXPECT_THAT(take(), IsEmpty()); }

TEST_F(NodeEvents, TellTheNodeAndThePodOfAFaultAndItsEnd) {
  take();
  node_.gpus[1].health.troubles = {"XID 79"};
  node_.remedies = {{"GPU-1", "XID 79", "a reboot of the node"}};
  const auto fault = take();
  EXPECT_THAT(texts(fault), ElementsAre("node W GpuUnhealthy GPU-1", "train W GpuUnhealthy GPU-1"));
  EXPECT_EQ(fault[0].note,
            "GPU 1 (GPU-1, 0000:11:00.0) is unhealthy: XID 79; cleared by: a reboot of the node");
  EXPECT_EQ(fault[1].pod.pod_uid, "uid-1");
  EXPECT_THAT(take(), IsEmpty());
  node_.gpus[1].health = {};
  node_.remedies.clear();
  EXPECT_THAT(texts(take()), ElementsAre("node N GpuHealthy GPU-1", "train N GpuHealthy GPU-1"));
}

TEST_F(NodeEvents, AreOnlyOfTheNodeForAPodWithoutAName) {
  take();
  node_.gpus[0].health.troubles = {"XID 48"};
  EXPECT_THAT(texts(take()), ElementsAre("node W GpuUnhealthy GPU-0"));
}

TEST_F(NodeEvents, AreOneForADriverThatGoesAndComesBack) {
  take();
  Inventory well = node_;
  node_.driver_trouble = "the library is gone";
  for (Gpu& gpu : node_.gpus) gpu.health.troubles = {"driver: the library is gone"};
  const auto gone = take();
  EXPECT_THAT(texts(gone), ElementsAre("node W DriverUnavailable driver"));
  EXPECT_THAT(gone[0].note, HasSubstr("the library is gone"));
  node_ = well;
  node_.gpus[1].health.troubles = {"XID 79"};
  EXPECT_THAT(texts(take()),
              ElementsAre("node N DriverAvailable driver", "node W GpuUnhealthy GPU-1",
                          "train W GpuUnhealthy GPU-1"));
}

TEST_F(NodeEvents, AreOneForADriverThatIsReleased) {
  take();
  node_.released_at = 7;
  for (Gpu& gpu : node_.gpus) gpu.health.troubles = {"released"};
  EXPECT_THAT(texts(take()), ElementsAre("node N DriverReleased driver"));
}

TEST_F(NodeEvents, NameAGpuThatIsGone) {
  take();
  node_ = a_node(1);
  EXPECT_THAT(texts(take()), ElementsAre("node W GpuGone GPU-1", "train W GpuGone GPU-1"));
}

TEST_F(NodeEvents, NameAGpuThatIsUnhealthyAtTheStart) {
  node_.gpus[0].health.troubles = {"XID 48"};
  EXPECT_THAT(texts(take()), ElementsAre("node W GpuUnhealthy GPU-0"));
}

}  // namespace
}  // namespace tranche::core
