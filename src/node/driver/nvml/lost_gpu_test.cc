// SPDX-License-Identifier: Apache-2.0
//
// A card that is lost or needs a reset, however the driver reports it.
#include <gmock/gmock.h>

#include "node/driver/nvml/testing/source_on_a_world.h"

namespace tranche::node::nvml {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LostGpuOnAWorld : public NvmlSourceOnAWorld {
 protected:
  // Everything that a reading can ask for.
  static constexpr ReadRequest kAll{.energy = true, .links = true, .inforom = true, .units = true};

  std::optional<FailureKind> failure_of_gpu(unsigned index, const ReadRequest& request = kAll) {
    const DriverReading reading = read(request);
    const std::optional<GpuFailure>& failure = reading.gpus.at(index).failure;
    return failure ? std::optional(failure->kind) : std::nullopt;
  }
  void fail(const char* call, abi::Return code) {
    apply(sim::fail_call({.call = call, .code = code, .gpu = sim::GpuRef(1U)}));
  }
};

TEST_F(LostGpuOnAWorld, IsSeenWhereTheDriverKnowsItFromMemoryOnly) {
  open("hgx-h200");
  ASSERT_THAT(failures(read()), IsEmpty());
  apply(sim::make_unreachable(3));
  const DriverReading reading = read();
  ASSERT_THAT(failures(reading), SizeIs(1));
  EXPECT_EQ(reading.gpus[3].failure->kind, FailureKind::kLost);
  ASSERT_TRUE(reading.gpus[3].gpu) << "who it is, is known";
  EXPECT_EQ(reading.gpus[3].gpu->uuid, node_->world()->gpus[3].uuid);
}

TEST_F(LostGpuOnAWorld, IsSeenByTheResultOfASingleField) {
  open("hgx-h200");
  read();
  for (const unsigned field : {abi::kFieldPcieReplay, abi::kFieldEccDbeVolatile,
                               abi::kFieldRecoveryAction, abi::kFieldEnergy}) {
    for (const auto& [code, kind] : {std::pair{abi::kGpuIsLost, FailureKind::kLost},
                                     std::pair{abi::kResetRequired, FailureKind::kNeedsReset}}) {
      apply(sim::fail_call(
          {.call = sim::kFieldCall, .code = code, .gpu = sim::GpuRef(1U), .field = field}));
      EXPECT_EQ(failure_of_gpu(1), kind) << field;
      EXPECT_EQ(failure_of_gpu(0), std::nullopt);
      apply(sim::clear_faults());
      EXPECT_EQ(failure_of_gpu(1), std::nullopt);
    }
  }
}

TEST_F(LostGpuOnAWorld, IsSeenByWhateverCallSaysSo) {
  start("hgx-h200");
  for (const char* call :
       {"nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID", "nvmlDeviceGetMinorNumber",
        "nvmlDeviceGetPciInfo", "nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetMigMode",
        "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents", "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetNvLinkState",
        "nvmlDeviceValidateInforom", "nvmlDeviceGetRepairStatus", "nvmlDeviceGetTemperature",
        "nvmlDeviceGetMemoryLimits"}) {
    for (const auto& [code, kind] : {std::pair{abi::kGpuIsLost, FailureKind::kLost},
                                     std::pair{abi::kResetRequired, FailureKind::kNeedsReset}}) {
      fail(call, code);
      ASSERT_TRUE(source_->open());
      EXPECT_EQ(failure_of_gpu(1), kind) << call;
      apply(sim::clear_faults());
      EXPECT_EQ(failure_of_gpu(0), std::nullopt) << call;
    }
  }
}

TEST_F(LostGpuOnAWorld, IsNotSeenInWhatACardDoesNotSupport) {
  open("hgx-h200");
  fail("nvmlDeviceGetTemperature", abi::kNotSupported);
  EXPECT_EQ(failure_of_gpu(1), std::nullopt);
  fail("nvmlDeviceGetPowerUsage", abi::kGpuIsLost);
  EXPECT_EQ(failure_of_gpu(1), FailureKind::kLost) << "the next value is asked for";
}

TEST_F(LostGpuOnAWorld, IsNotSeenInOneValueThatFails) {
  open("hgx-h200");
  fail("nvmlDeviceGetTemperature", abi::kUnknown);
  EXPECT_EQ(failure_of_gpu(1), std::nullopt);
  for (const char* call : {"nvmlDeviceGetPowerUsage", "nvmlDeviceGetPcieReplayCounter",
                           "nvmlDeviceGetTotalEccErrors"}) {
    fail(call, abi::kNotSupported);
  }
  EXPECT_EQ(failure_of_gpu(1), FailureKind::kOther) << "nothing comes from the card";
}

TEST_F(LostGpuOnAWorld, CannotBeSeenWhereNoValueIsSupportedAndTheLogSaysSo) {
  open("hgx-h200");
  read();
  EXPECT_THAT(logged_, IsEmpty());
  for (const char* call : {"nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage",
                           "nvmlDeviceGetPcieReplayCounter", "nvmlDeviceGetTotalEccErrors"}) {
    fail(call, abi::kNotSupported);
  }
  EXPECT_EQ(failure_of_gpu(1), std::nullopt);
  EXPECT_THAT(logged_, HasSubstr("supports no value that is read from the card"));
  EXPECT_THAT(logged_, HasSubstr(node_->world()->gpus[1].uuid.text));
  logged_.clear();
  read();
  EXPECT_THAT(logged_, IsEmpty()) << "said once";
}

// It reports its temperature, but does no work.
TEST_F(LostGpuOnAWorld, IsSeenWhereOnlyItsMemorySaysThatItNeedsAReset) {
  open("hgx-h200");
  read();
  apply(sim::all_of({sim::require_reset(2),
                     sim::edit_gpu(2, [](sim::Gpu& gpu) { gpu.vitals.recovery_action = 0; })}));
  EXPECT_EQ(failure_of_gpu(2), FailureKind::kNeedsReset);
}

}  // namespace
}  // namespace tranche::node::nvml
