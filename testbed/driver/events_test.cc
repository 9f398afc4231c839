// SPDX-License-Identifier: Apache-2.0
#include <future>
#include <thread>

#include "testbed/driver/testing/nvml_client.h"
#include "testbed/world/world_file.h"

namespace tranche::testbed::sim {
namespace {

constexpr unsigned kLong = 60'000;  // ms; a test that needs it all has failed

class Events : public SimulatedDriver {
 protected:
  abi::EventSet make_set() const {
    abi::EventSet set = nullptr;
    EXPECT_EQ(nvml()("nvmlEventSetCreate", &set), abi::kSuccess);
    return set;
  }
  abi::Return add(abi::EventSet set, unsigned gpu, unsigned long long types) const {
    return nvml()("nvmlDeviceRegisterEvents", nvml().gpu(gpu), types, set);
  }
  abi::Return wait(abi::EventSet set, abi::EventData& data, unsigned timeout_ms = kLong) const {
    return nvml()("nvmlEventSetWait_v2", set, &data, timeout_ms);
  }
};

TEST_F(Events, BringAnXidToWhoRegisteredForIt) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 3, abi::kEventXid), abi::kSuccess);
  abi::EventData data{};
  EXPECT_EQ(wait(set, data, 0), abi::kTimeout);
  apply(raise_xid(3, {.number = 48}));
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.device, nvml().gpu(3));
  EXPECT_EQ(data.event_type, abi::kEventXid);
  EXPECT_EQ(data.event_data, 48U);
  EXPECT_EQ(data.gpu_instance_id, abi::kNoInstance);
  EXPECT_EQ(data.compute_instance_id, abi::kNoInstance);
  EXPECT_EQ(wait(set, data, 0), abi::kTimeout);
}

TEST_F(Events, WakeAWaiterThatIsAlreadyThere) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 0, abi::kEventXid), abi::kSuccess);
  abi::EventData data{};
  auto waiting = std::async(std::launch::async, [&] { return wait(set, data); });
  apply(raise_xid(0, {.number = 94, .gpu_instance = 2, .compute_instance = 0}));
  ASSERT_EQ(waiting.get(), abi::kSuccess);
  EXPECT_EQ(data.event_data, 94U);
  EXPECT_EQ(data.gpu_instance_id, 2U);
  EXPECT_EQ(data.compute_instance_id, 0U);
}

TEST_F(Events, FromBeforeTheRegistrationAreLost) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  apply(raise_xid(0, {.number = 13}));
  ASSERT_EQ(add(set, 0, abi::kEventXid), abi::kSuccess);
  apply(raise_xid(0, {.number = 31}));
  abi::EventData data{};
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.event_data, 31U);
}

TEST_F(Events, AreCopiedToEverySet) {
  start("hgx-h200");
  const abi::EventSet first = make_set();
  const abi::EventSet second = make_set();
  ASSERT_EQ(add(first, 0, abi::kEventXid), abi::kSuccess);
  ASSERT_EQ(add(second, 0, abi::kEventXid), abi::kSuccess);
  apply(raise_xid(0, {.number = 13}));
  abi::EventData data{};
  EXPECT_EQ(wait(first, data), abi::kSuccess);
  EXPECT_EQ(wait(second, data), abi::kSuccess);
}

TEST_F(Events, OfAnotherKindOrGpuAreNotDelivered) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 0, abi::kEventDoubleBitEcc), abi::kSuccess);
  apply(raise_xid(0, {.number = 13}));
  apply(raise_event(1, abi::kEventDoubleBitEcc));
  abi::EventData data{};
  EXPECT_EQ(wait(set, data, 0), abi::kTimeout);
}

TEST_F(Events, DoNotCarryTheXidsThatOnlyTheLogTells) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 0, abi::kEventXid), abi::kSuccess);
  apply(raise_xid(0, {.number = 79}));
  apply(raise_xid(0, {.number = 48, .route = Xid::Route::kLog}));
  apply(raise_xid(0, {.number = 119, .route = Xid::Route::kBoth}));
  abi::EventData data{};
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.event_data, 119U);
}

TEST_F(Events, OfTheOldFormHaveNoInstances) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 0, abi::kEventXid), abi::kSuccess);
  apply(raise_xid(0, {.number = 13}));
  abi::EventDataV1 data{};
  ASSERT_EQ(nvml()("nvmlEventSetWait", set, &data, kLong), abi::kSuccess);
  EXPECT_EQ(data.event_data, 13U);
}

TEST_F(Events, TellOfAnUncorrectableErrorInEveryWay) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 0, abi::kEventXid | abi::kEventDoubleBitEcc | abi::kEventRecoveryAction),
            abi::kSuccess);
  apply(uncorrectable_ecc(0));
  abi::EventData data{};
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.event_type, abi::kEventDoubleBitEcc);
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.event_data, 48U);
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.event_data, 154U);
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.event_type, abi::kEventRecoveryAction);
}

TEST_F(Events, TellOfANewMigLayout) {
  start("dgx-a100");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 0, abi::kEventMigConfigChange), abi::kSuccess);
  apply(set_mig(0, *parse_layout("3g.20gb,3g.20gb")));
  abi::EventData data{};
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.event_type, abi::kEventMigConfigChange);
}

TEST_F(Events, AreRefusedWhereTheGpuHasNone) {
  start("mixed-models");
  const abi::EventSet set = make_set();
  EXPECT_EQ(add(set, 3, abi::kEventDoubleBitEcc), abi::kNotSupported);  // a consumer card
  EXPECT_EQ(add(set, 3, abi::kEventXid), abi::kSuccess);
  EXPECT_EQ(add(abi::EventSet{nullptr}, 0, abi::kEventXid), abi::kInvalidArgument);
  unsigned long long types = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetSupportedEventTypes", nvml().gpu(0), &types), abi::kSuccess);
  EXPECT_EQ(types & abi::kEventMigConfigChange, 0U);  // a T4 has no MIG
  const abi::Device mig = nvml().mig(nvml().gpu(1), 0);
  EXPECT_EQ(nvml()("nvmlDeviceRegisterEvents", mig, abi::kEventXid, set), abi::kNotSupported);
}

TEST_F(Events, EndWhenAGpuOfTheSetIsLost) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 0, abi::kEventXid), abi::kSuccess);
  ASSERT_EQ(add(set, 1, abi::kEventXid), abi::kSuccess);
  abi::EventData data{};
  auto waiting = std::async(std::launch::async, [&] { return wait(set, data); });
  apply(all_of({raise_xid(0, {.number = 13}), lose(1)}));
  EXPECT_EQ(waiting.get(), abi::kSuccess);
  EXPECT_EQ(wait(set, data), abi::kGpuIsLost);
}

TEST_F(Events, FailAsTheWorldSays) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  apply(fail_call({.call = "nvmlDeviceRegisterEvents", .code = abi::kUnknown, .gpu = 0}));
  EXPECT_EQ(add(set, 0, abi::kEventXid), abi::kUnknown);
  ASSERT_EQ(add(set, 1, abi::kEventXid), abi::kSuccess);
  abi::EventData data{};
  auto waiting = std::async(std::launch::async, [&] { return wait(set, data); });
  apply(fail_call({.call = "nvmlEventSetWait", .code = abi::kGpuIsLost, .times = 1, .gpu = 1}));
  EXPECT_EQ(waiting.get(), abi::kGpuIsLost);
  EXPECT_EQ(wait(set, data, 0), abi::kTimeout);
}

TEST_F(Events, GoOnInAWorldThatWasPutInPlaceOfThis) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  ASSERT_EQ(add(set, 0, abi::kEventXid), abi::kSuccess);
  for (int i = 0; i < 3; ++i) apply(raise_xid(0, {.number = 13}));
  abi::EventData data{};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(wait(set, data), abi::kSuccess);
  ASSERT_TRUE(write_world_file(node().world_file(), *builtin_world("hgx-h200")));
  EXPECT_EQ(wait(set, data, 0), abi::kTimeout);
  apply(raise_xid(0, {.number = 31}));
  ASSERT_EQ(wait(set, data), abi::kSuccess);
  EXPECT_EQ(data.event_data, 31U);
}

TEST_F(Events, OfAFreedSetAreNoMore) {
  start("hgx-h200");
  const abi::EventSet set = make_set();
  EXPECT_EQ(nvml()("nvmlEventSetFree", set), abi::kSuccess);
  abi::EventData data{};
  EXPECT_EQ(wait(set, data, 0), abi::kInvalidArgument);
  EXPECT_EQ(nvml()("nvmlEventSetFree", set), abi::kInvalidArgument);
}

}  // namespace
}  // namespace tranche::testbed::sim
