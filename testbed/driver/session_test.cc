// SPDX-License-Identifier: Apache-2.0
//
// Sessions and enumeration, and what faults do to them.
#include <atomic>
#include <string>
#include <thread>

#include "os/files.h"
#include "testbed/driver/testing/nvml_client.h"
#include "testbed/world/world_file.h"

namespace tranche::testbed::sim {
namespace {

using Session = SimulatedDriver;

TEST_F(Session, CountsAndNamesTheGpusOfTheWorld) {
  start("hgx-h200");
  ASSERT_EQ(nvml().count(), 8U);
  for (unsigned i = 0; i < 8; ++i) {
    const abi::Device gpu = nvml().gpu(i);
    EXPECT_EQ(nvml().text("nvmlDeviceGetUUID", gpu), world().gpus[i].uuid.text);
    EXPECT_EQ(nvml().text("nvmlDeviceGetName", gpu), "NVIDIA H200");
    EXPECT_EQ(nvml().number("nvmlDeviceGetIndex", gpu), i);
    EXPECT_EQ(nvml().number("nvmlDeviceGetMinorNumber", gpu), i);
    EXPECT_EQ(gpu, nvml().gpu(i));
  }
}

TEST_F(Session, IsNeededForEveryCall) {
  start("t4-single");
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
  unsigned count = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetCount_v2", &count), abi::kUninitialized);
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kUninitialized);
}

TEST_F(Session, EndsWithAsManyShutdownsAsInits) {
  start("t4-single");
  EXPECT_EQ(nvml()("nvmlInit"), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlInitWithFlags", 0U), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
  EXPECT_EQ(nvml().count(), 1U);
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kUninitialized);
}

TEST_F(Session, RefusesHandlesItNeverGave) {
  start("t4-single");
  int nothing = 0;
  unsigned value = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetIndex", reinterpret_cast<abi::Device>(&nothing), &value),
            abi::kInvalidArgument);
  EXPECT_EQ(nvml()("nvmlDeviceGetIndex", abi::Device{nullptr}, &value), abi::kInvalidArgument);
  abi::Device device = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByIndex_v2", 1U, &device), abi::kInvalidArgument);
}

TEST_F(Session, FindsAGpuByUuidSerialAndBusIdInAllForms) {
  start("dgx-a100");
  const abi::Device third = nvml().gpu(3);
  const std::string uuid = world().gpus[3].uuid.text;
  const std::string serial = world().gpus[3].serial;
  abi::Device found = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByUUID", uuid.c_str(), &found), abi::kSuccess);
  EXPECT_EQ(found, third);
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleBySerial", serial.c_str(), &found), abi::kSuccess);
  EXPECT_EQ(found, third);
  for (const char* id : {"00000000:4E:00.0", "0000:4e:00.0", "4e:00.0"}) {
    found = nullptr;
    EXPECT_EQ(nvml()("nvmlDeviceGetHandleByPciBusId_v2", id, &found), abi::kSuccess);
    EXPECT_EQ(found, third) << id;
  }
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByUUID", "GPU-none", &found), abi::kNotFound);
}

TEST_F(Session, CountsALostGpuButGetsNoHandleOfIt) {
  start("hgx-h200");
  const abi::Device second = nvml().gpu(2);
  apply(lose(2));
  abi::Device device = nullptr;
  std::array<char, 96> text{};
  EXPECT_EQ(nvml().count(), 8U);
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByIndex_v2", 2U, &device), abi::kGpuIsLost);
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", second, text.data(), 96U), abi::kGpuIsLost);
  EXPECT_EQ(nvml().text("nvmlDeviceGetUUID", nvml().gpu(3)), world().gpus[3].uuid.text);
  restart_session();
  EXPECT_EQ(nvml().count(), 8U);
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByIndex_v2", 2U, &device), abi::kGpuIsLost);
}

TEST_F(Session, NoLongerCountsAGpuThatFellOffTheBus) {
  start("hgx-h200");
  const abi::Device second = nvml().gpu(2);
  apply(fall_off(2));
  std::array<char, 96> text{};
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", second, text.data(), 96U), abi::kGpuIsLost);
  restart_session();
  EXPECT_EQ(nvml().count(), 7U);
  EXPECT_EQ(nvml().text("nvmlDeviceGetUUID", nvml().gpu(2)), world().gpus[3].uuid.text);
}

TEST_F(Session, SeesAGpuAgainOnlyAfterAFreshInit) {
  start("hgx-h200");
  apply(lose(2));
  apply(come_back(2));
  abi::Device device = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetHandleByIndex_v2", 2U, &device), abi::kGpuIsLost);
  restart_session();
  EXPECT_EQ(nvml().text("nvmlDeviceGetUUID", nvml().gpu(2)), world().gpus[2].uuid.text);
}

TEST_F(Session, SeesPluggedAndUnpluggedGpusAfterAFreshInit) {
  start("l40s");
  Gpu card = world().gpus[1];
  apply(unplug(1));
  restart_session();
  EXPECT_EQ(nvml().count(), 3U);
  card.uuid = GpuUuid("GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee");
  apply(plug(card));
  EXPECT_EQ(nvml().count(), 3U);
  restart_session();
  EXPECT_EQ(nvml().text("nvmlDeviceGetUUID", nvml().gpu(1)), card.uuid.text);
}

TEST_F(Session, KeepsWhoAGpuIsWhileItWaitsForAReset) {
  start("hgx-h200");
  const abi::Device gpu = nvml().gpu(0);
  apply(require_reset(0));
  abi::Memory memory{};
  EXPECT_EQ(nvml().text("nvmlDeviceGetUUID", gpu), world().gpus[0].uuid.text);
  EXPECT_EQ(nvml()("nvmlDeviceGetMemoryInfo", gpu, &memory), abi::kResetRequired);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldRecoveryAction).value.ui, abi::kRecoveryGpuReset);
}

TEST_F(Session, FailsWhileTheDriverIsUnloadedAndUntilAFreshInit) {
  start("hgx-h200");
  const abi::Device gpu = nvml().gpu(0);
  std::array<char, 96> text{};
  apply(unload_driver());
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", gpu, text.data(), 96U), abi::kDriverNotLoaded);
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlInit_v2"), abi::kDriverNotLoaded);
  apply(load_driver());
  EXPECT_EQ(nvml()("nvmlInit_v2"), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", gpu, text.data(), 96U), abi::kSuccess);
}

TEST_F(Session, RefusesAKernelModuleOfAnotherVersion) {
  start("hgx-h200");
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
  apply(set_module_version("570.1"));
  EXPECT_EQ(nvml()("nvmlInit_v2"), abi::kLibRmVersionMismatch);
}

TEST_F(Session, FailsACallAsOftenAsItIsTold) {
  start("hgx-h200");
  const abi::Device zero = nvml().gpu(0);
  const abi::Device one = nvml().gpu(1);
  apply(fail_call({.call = "nvmlDeviceGetUUID", .code = abi::kUnknown, .times = 2, .gpu = 1}));
  std::array<char, 96> text{};
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", zero, text.data(), 96U), abi::kSuccess);
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", one, text.data(), 96U), abi::kUnknown);
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", one, text.data(), 96U), abi::kUnknown);
  EXPECT_EQ(nvml()("nvmlDeviceGetUUID", one, text.data(), 96U), abi::kSuccess);
  apply(fail_call({.call = "nvmlDeviceGetCount", .code = abi::kNotSupported}));
  unsigned count = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetCount_v2", &count), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetCount_v2", &count), abi::kNotSupported);
  apply(clear_faults());
  EXPECT_EQ(nvml().count(), 8U);
}

TEST_F(Session, BlocksACallUntilTheFaultIsGone) {
  start("hgx-h200");
  const abi::Device gpu = nvml().gpu(2);
  apply(block_call("nvmlDeviceGetName", GpuRef(2)));
  std::atomic<bool> returned = false;
  abi::Return result = abi::kUnknown;
  std::array<char, 96> text{};
  std::jthread stuck([&] {
    result = nvml()("nvmlDeviceGetName", gpu, text.data(), 96U);
    returned = true;
  });
  // Others are not held up by it.
  EXPECT_EQ(nvml().text("nvmlDeviceGetName", nvml().gpu(1)), "NVIDIA H200");
  EXPECT_FALSE(returned);
  apply(clear_faults("nvmlDeviceGetName"));
  stuck.join();
  EXPECT_EQ(result, abi::kSuccess);
  EXPECT_STREQ(text.data(), "NVIDIA H200");
}

TEST_F(Session, BlocksInitToo) {
  start("t4-single");
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
  apply(block_call("nvmlInit"));
  abi::Return result = abi::kUnknown;
  std::jthread stuck([&] { result = nvml()("nvmlInit_v2"); });
  apply(clear_faults());
  stuck.join();
  EXPECT_EQ(result, abi::kSuccess);
}

TEST_F(Session, EndsWithoutADriverAndFailsToEndWhenTold) {
  start("t4-single");
  EXPECT_EQ(nvml()("nvmlInit_v2"), abi::kSuccess);
  apply(all_of(
      {unload_driver(), fail_call({.call = "nvmlShutdown", .code = abi::kUnknown, .times = 1})}));
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kUnknown);
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
}

TEST_F(Session, TakesTheWorldThatTheEnvironmentNames) {
  start("t4-single");
  EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
  const TempDir folder;
  ASSERT_TRUE(write_world_file(folder.path("w.yaml"), *builtin_world("l40s")));
  ::setenv("TRANCHE_SIM_WORLD", folder.path("w.yaml").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(nvml()("nvmlInit_v2"), abi::kSuccess);
  EXPECT_EQ(nvml().count(), 4U);
  ::unsetenv("TRANCHE_SIM_WORLD");  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(Session, SaysUnknownOfAWorldItCannotRead) {
  start("t4-single");
  ASSERT_TRUE(write_atomically(node().world_file(), "gpus: [{model: t5}]"));
  unsigned count = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetCount_v2", &count), abi::kUnknown);
}

void look_at_all_gpus(const NvmlClient& nvml) {
  EXPECT_EQ(nvml("nvmlInit_v2"), abi::kSuccess);
  for (unsigned i = 0; i < nvml.count(); ++i) {
    EXPECT_FALSE(nvml.text("nvmlDeviceGetUUID", nvml.gpu(i)).empty());
  }
  EXPECT_EQ(nvml("nvmlShutdown"), abi::kSuccess);
}

TEST_F(Session, IsSafeForSeveralThreads) {
  start("hgx-h200");
  const auto look_often = [&] {
    for (int round = 0; round < 50; ++round) look_at_all_gpus(nvml());
  };
  std::array<std::jthread, 4> threads;
  for (std::jthread& thread : threads) thread = std::jthread(look_often);
  for (int i = 0; i < 10; ++i) apply(raise_xid(0, {.number = 13}));
  for (std::jthread& thread : threads) thread.join();
  EXPECT_EQ(nvml().count(), 8U);
}

TEST_F(Session, ThatIsTheLastRestartsCountersWithoutPersistenceMode) {
  start("hgx-h200");
  apply(all_of({edit_gpu(0, [](Gpu& gpu) { gpu.persistence = false; }),
                edit_gpu(1, [](Gpu& gpu) { gpu.persistence = false; }),
                set_processes(1, {{.pid = 7, .name = "python"}})}));
  const World before = world();
  restart_session();
  EXPECT_LT(world().gpus[0].vitals.energy_mj, before.gpus[0].vitals.energy_mj);
  EXPECT_EQ(world().gpus[0].generation, before.gpus[0].generation) << "it is no reset";
  EXPECT_EQ(world().gpus[1].vitals, before.gpus[1].vitals) << "somebody else has it open";
  EXPECT_EQ(world().gpus[2].vitals, before.gpus[2].vitals) << "it has persistence mode";
}

TEST_F(Session, CanHaveOneCallThatDoesNotReturn) {
  start("hgx-h200");
  apply(block_call("nvmlDeviceGetTemperature", GpuRef(0U), 1));
  unsigned celsius = 0;
  std::atomic<bool> returned = false;
  std::thread stuck([&] {
    unsigned ignored = 0;
    EXPECT_EQ(nvml()("nvmlDeviceGetTemperature", nvml().gpu(0), 0, &ignored), abi::kSuccess);
    returned = true;
  });
  // Whichever call comes first is the one that is stuck.
  std::thread second([&] {
    EXPECT_EQ(nvml()("nvmlDeviceGetTemperature", nvml().gpu(0), 0, &celsius), abi::kSuccess);
    returned = true;
  });
  while (!returned) std::this_thread::yield();
  apply(clear_faults());
  stuck.join();
  second.join();
}

}  // namespace
}  // namespace tranche::testbed::sim
