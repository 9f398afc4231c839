// SPDX-License-Identifier: Apache-2.0
//
// The ledger's keeper with the kubelet's stand-in and a plugin: what is known of
// who holds what, whatever happens to pods, kubelet and service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>

#include "node/holders/ledger_keeper.h"
#include "node/kubelet/pod_resources_client.h"
#include "os/latest.h"
#include "os/testing/temp_dir.h"
#include "testbed/kubelet/checkpoint.h"
#include "testbed/kubelet/kubelet.h"
#include "testbed/kubelet/scripted_plugin.h"

namespace tranche::tests {
namespace {

using standin::Pod;
using std::chrono::milliseconds;
using testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};
constexpr const char* kGpu = "example.com/gpu";

class LedgerStory : public testing::Test {
 protected:
  LedgerStory() {
    options_.pod_resources_socket = dir_.path("pods/kubelet.sock");
    options_.checkpoint = dir_.path("plugins/" + std::string(standin::kCheckpointName));
    // Lists are asked for by look_soon(): a story knows when.
    options_.period = std::chrono::hours(1);
    options_.quiet = milliseconds(1);
  }

  void begin() {
    kubelet_ = std::make_unique<standin::Kubelet>(standin::KubeletOptions{
        .directory = dir_.path("plugins"), .pod_resources_directory = dir_.path("pods")});
    ASSERT_TRUE(kubelet_->start());
    plug_in();
    keeper_ = std::make_unique<LedgerKeeper>(
        options_,
        LedgerKeeper::Hooks{
            .list =
                [this](const std::stop_token& stop) {
                  return PodResourcesClient(options_.pod_resources_socket).list({}, stop);
                },
            .publish = [this](const LedgerReading& r) { take(r); },
            .wants_confirmation = [this] { return !to_confirm(records()).empty(); },
            .nudge = [this] { nudge(); }},
        gate_, log_);
    keeper_->start();
    await_list();
  }

  // On a fresh name each time, as ours.
  void plug_in() {
    plugin_ = std::make_unique<standin::ScriptedPlugin>(
        dir_.path("plugins"), std::to_string(++plugins_) + ".sock",
        standin::ScriptedPlugin::Script{.on_allocate = [this](const auto& request, auto& response) {
          return answer(request, response);
        }});
    plugin_->publish(standin::healthy_devices(4));
    ASSERT_TRUE(plugin_->register_as(kGpu).ok());
    ASSERT_TRUE(kubelet_->wait_for_allocatable(kGpu, 4, kPatience));
  }

  grpc::Status answer(const v1beta1::AllocateRequest& request,
                      v1beta1::AllocateResponse& response) {
    const CallGate::Call call(gate_);
    const auto& ids = request.container_requests(0).devices_ids();
    FreshGrant grant{kGpu, {ids.begin(), ids.end()}, LedgerTime::clock::now()};
    std::ranges::sort(grant.shares);
    {
      const std::lock_guard lock(mutex_);
      records_.publish(with_grant(*records_.get().value, std::move(grant)));
    }
    if (in_call_) in_call_();
    response.add_container_responses();
    keeper_->look_soon();
    return grpc::Status::OK;
  }

  void take(const LedgerReading& reading) {
    if (reading.pod_resources) last_list_ = reading.begun;
    if (!reading.pod_resources) ++checkpoints_;
    const std::lock_guard lock(mutex_);
    records_.publish(with_reading(*records_.get().value, reading));
  }

  void nudge() {
    ++nudges_;
    plugin_->publish(standin::healthy_devices(4));
  }

  Records records() { return *records_.get().value; }

  bool await(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      records_.wait_newer(records_.get().version, milliseconds(10));
    }
    return true;
  }

  // A List that begins after this call; then the keeper has nothing more to do.
  void await_list() {
    const LedgerTime now = LedgerTime::clock::now();
    keeper_->look_soon();
    ASSERT_TRUE(await([&] { return last_list_.load() >= now; }));
  }

  // A write of the checkpoint that the keeper has read, and no List with it.
  void await_checkpoint() {
    const int before = checkpoints_;
    plugin_->publish(standin::healthy_devices(4));
    ASSERT_TRUE(await([&] { return checkpoints_ > before; }));
  }

  void expect_held(const std::vector<Holder>& holders) {
    // A List may come before the kubelet has recorded what it asked us for.
    EXPECT_TRUE(await([&] {
      keeper_->look_soon();
      return holders_now() == holders;
    })) << held_now();
  }

  // For the message of a failure.
  std::string held_now() {
    std::string text = "held:";
    for (const Holder& holder : holders_now()) text += "\n  " + to_string(holder);
    return text + "\nunconfirmed: " + std::to_string(to_confirm(records()).size()) +
           ", grants: " + std::to_string(records().fresh.size()) +
           ", nudges: " + std::to_string(nudges_);
  }

  std::vector<Holder> holders_now() {
    std::vector<Holder> holders;
    for (const Holding& holding : present(records()).holdings) holders.push_back(holding.holder);
    return holders;
  }

  static Pod pod(const std::string& name) {
    return {.uid = "uid-" + name, .name = name, .containers = {{"main", {{kGpu, 1}}}}};
  }
  static Pod pod_with_init(const std::string& name, int init, int main) {
    return {.uid = "uid-" + name,
            .name = name,
            .init_containers = {{"prepare", {{kGpu, init}}}},
            .containers = {{"main", {{kGpu, main}}}}};
  }
  static Holder holder(const std::string& name, const std::string& container = "main") {
    return {"default", name, "uid-" + name, container};
  }

  TempDir dir_;
  LedgerSourceOptions options_;
  Log log_{[](std::string_view) {}};
  CallGate gate_;
  std::mutex mutex_;  // held around a change of records_
  Latest<Records> records_;
  std::atomic<LedgerTime> last_list_ = LedgerTime();
  std::atomic<int> checkpoints_ = 0;
  std::atomic<int> nudges_ = 0;
  std::function<void()> in_call_;
  int plugins_ = 0;
  std::unique_ptr<standin::Kubelet> kubelet_;
  std::unique_ptr<standin::ScriptedPlugin> plugin_;
  std::unique_ptr<LedgerKeeper> keeper_;  // last: its thread uses the rest
};

TEST_F(LedgerStory, APodThatStartsIsHeldWithItsNamesAndItsUid) {
  begin();
  ASSERT_TRUE(kubelet_->admit(pod("one")).admitted);
  expect_held({holder("one")});
  EXPECT_THAT(records().fresh, IsEmpty()) << "the grant is settled";
}

TEST_F(LedgerStory, AGrantIsSettledByTheCheckpointOfItsAdmission) {
  options_.quiet = std::chrono::hours(1);  // no List comes after the call
  begin();
  ASSERT_TRUE(kubelet_->admit(pod("one")).admitted);
  expect_held({Holder{"", "", "uid-one", "main"}});
  EXPECT_THAT(records().fresh, IsEmpty());
}

TEST_F(LedgerStory, AnInitContainersShareIsHeldByTheCheckpoint) {
  begin();
  ASSERT_TRUE(kubelet_->admit(pod_with_init("one", 2, 1)).admitted);
  expect_held({holder("one", "main"), holder("one", "prepare")});
}

TEST_F(LedgerStory, AnInitContainerThatNobodyListsIsNotAskedAboutAgainAndAgain) {
  begin();
  ASSERT_TRUE(kubelet_->admit(pod_with_init("one", 2, 0)).admitted);
  const std::vector<Holder> init{{"", "", "uid-one", "prepare"}};
  expect_held(init);
  // Once, after the first List that could have it.
  ASSERT_TRUE(await([&] { return nudges_ > 0 && to_confirm(records()).empty(); }));
  const int nudges = nudges_;
  for (int round = 0; round < 3; ++round) await_list();
  EXPECT_THAT(to_confirm(records()), IsEmpty());
  EXPECT_EQ(nudges_, nudges);
  expect_held(init);
}

TEST_F(LedgerStory, APodThatEndsIsALeftoverUntilTheKubeletIsNudged) {
  begin();
  ASSERT_TRUE(kubelet_->admit(pod("one")).admitted);
  ASSERT_TRUE(kubelet_->admit(pod("two")).admitted);
  expect_held({holder("one"), holder("two")});
  kubelet_->remove(pod("one"));
  expect_held({holder("two")});
  EXPECT_GE(nudges_, 1);
}

// It would be withheld from other names of its GPU for as long as a confirmation lasts.
TEST_F(LedgerStory, APodThatEndsBeforeAnyListHasItIsALeftoverAsWell) {
  begin();
  {
    const CallGate::Call call(gate_);  // no List
    ASSERT_TRUE(kubelet_->admit(pod("one")).admitted);
    ASSERT_TRUE(
        await([&] { return holders_now() == std::vector<Holder>{{"", "", "uid-one", "main"}}; }));
    ASSERT_THAT(to_confirm(records()), IsEmpty()) << "confirmed by the write of its admission";
    kubelet_->remove(pod("one"));
  }
  await_list();
  EXPECT_TRUE(await([&] { return nudges_ > 0; }));
  expect_held({});
}

TEST_F(LedgerStory, APodWithAnInitContainerLeavesNothingBehind) {
  begin();
  const Pod one = pod_with_init("one", 3, 1);
  ASSERT_TRUE(kubelet_->admit(one).admitted);
  expect_held({holder("one", "main"), holder("one", "prepare")});
  ASSERT_TRUE(await([&] { return to_confirm(records()).empty(); }));
  kubelet_->remove(one);
  expect_held({});
}

TEST_F(LedgerStory, AKubeletThatRestartsFreesNothing) {
  begin();
  ASSERT_TRUE(kubelet_->admit(pod("one")).admitted);
  expect_held({holder("one")});
  kubelet_->stop(standin::SocketFile::kLeftBehind);
  keeper_->look_soon();
  ASSERT_TRUE(await([&] { return !keeper_->status().pod_resources.answers; }));
  expect_held({holder("one")});
  ASSERT_TRUE(kubelet_->start());
  plug_in();
  await_list();
  EXPECT_TRUE(keeper_->status().pod_resources.answers);
  // It answers before it has heard of its pods, and lists none.
  expect_held({Holder{"", "", "uid-one", "main"}});
  kubelet_->admit_found_pods();
  expect_held({holder("one")});
}

TEST_F(LedgerStory, AServiceThatGoesAwayChangesNothing) {
  begin();
  ASSERT_TRUE(kubelet_->admit(pod("one")).admitted);
  expect_held({holder("one")});
  ASSERT_TRUE(kubelet_->serve_pod_resources(false));
  keeper_->look_soon();
  ASSERT_TRUE(await([&] { return !keeper_->status().pod_resources.answers; }));
  // Its last word stands, and the checkpoint goes on telling.
  ASSERT_TRUE(kubelet_->admit(pod("two")).admitted);
  expect_held({Holder{"", "", "uid-two", "main"}, holder("one")});
  ASSERT_TRUE(kubelet_->serve_pod_resources(true));
  expect_held({holder("one"), holder("two")});
}

TEST_F(LedgerStory, ANewKeeperFindsEverythingAgain) {
  begin();
  ASSERT_TRUE(kubelet_->admit(pod_with_init("one", 2, 1)).admitted);
  expect_held({holder("one", "main"), holder("one", "prepare")});
  keeper_.reset();
  records_.publish({});
  keeper_ = std::make_unique<LedgerKeeper>(
      options_,
      LedgerKeeper::Hooks{
          .list =
              [this](const std::stop_token& stop) {
                return PodResourcesClient(options_.pod_resources_socket).list({}, stop);
              },
          .publish = [this](const LedgerReading& r) { take(r); },
          .wants_confirmation = [] { return false; },
          .nudge = [] {}},
      gate_, log_);
  keeper_->start();
  expect_held({holder("one", "main"), holder("one", "prepare")});
}

TEST_F(LedgerStory, AListIsNeverAskedForWhileACallIsOpen) {
  begin();
  std::uint64_t lists = 0;
  in_call_ = [&] {
    lists = kubelet_->pod_resources_counts().lists;
    keeper_->look_soon();
    // The keeper comes by again and again, and reads the checkpoint only.
    for (int round = 0; round < 3; ++round) await_checkpoint();
    EXPECT_EQ(kubelet_->pod_resources_counts().lists, lists);
  };
  ASSERT_TRUE(kubelet_->admit(pod("one")).admitted);
  ASSERT_TRUE(await([&] { return kubelet_->pod_resources_counts().lists > lists; }));
  EXPECT_EQ(kubelet_->pod_resources_counts().lists_during_calls, 0U);
}

TEST_F(LedgerStory, AListIsNotAskedForInTheMomentAfterACall) {
  options_.quiet = std::chrono::hours(1);
  begin();
  ASSERT_TRUE(kubelet_->admit(pod("one")).admitted);
  const std::uint64_t lists = kubelet_->pod_resources_counts().lists;
  keeper_->look_soon();
  for (int round = 0; round < 3; ++round) await_checkpoint();
  EXPECT_EQ(kubelet_->pod_resources_counts().lists, lists);
}

// As where a controller makes a pod anew that is refused every time: it is never as
// quiet as it should be.
TEST_F(LedgerStory, AListIsAskedForInTheEndThoughItIsNotQuiet) {
  options_.quiet = std::chrono::hours(1);
  options_.quiet_patience = milliseconds(1);
  begin();
  {
    const CallGate::Call call(gate_);
  }
  await_list();
}

}  // namespace
}  // namespace tranche::tests
