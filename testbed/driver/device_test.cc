// SPDX-License-Identifier: Apache-2.0
//
// What a device says of itself: identity, memory, health, processes, settings.
#include <cstring>

#include "testbed/driver/more_abi.h"
#include "testbed/driver/testing/nvml_client.h"

namespace tranche::testbed::sim {
namespace {

constexpr std::uint64_t kMib = 1ULL << 20;

using Device = SimulatedDriver;

TEST_F(Device, HasTheBusIdInBothWidths) {
  start("gb300-tray");
  abi::PciInfo info{};
  ASSERT_EQ(nvml()("nvmlDeviceGetPciInfo_v3", nvml().gpu(1), &info), abi::kSuccess);
  EXPECT_STREQ(info.bus_id, "00000009:06:00.0");
  EXPECT_STREQ(info.bus_id_legacy, "0009:06:00.0");
  EXPECT_EQ(info.domain, 9U);
  EXPECT_EQ(info.bus, 6U);
  EXPECT_EQ(info.pci_device_id, 0x31C210DEU);
  EXPECT_EQ(info.pci_subsystem_id, 0x21F110DEU);
}

TEST_F(Device, WritesNoMoreThanTheOlderFormsOfItsBusIdHold) {
  start("t4-single");
  for (const auto& [name, size] :
       {std::pair{"nvmlDeviceGetPciInfo", 32U}, std::pair{"nvmlDeviceGetPciInfo_v2", 36U}}) {
    std::array<unsigned char, 68> info{};
    info.fill(0x55);
    ASSERT_EQ(nvml()(name, nvml().gpu(0), info.data()), abi::kSuccess);
    EXPECT_STREQ(reinterpret_cast<const char*>(info.data()), "0000:00:1E.0");
    EXPECT_NE(info.at(size - 1), 0x55);
    EXPECT_EQ(info.at(size), 0x55) << name;
  }
}

TEST_F(Device, KnowsItsPciClass) {
  start("mixed-models");
  layout::PciInfoExt info{.version = layout::kPciInfoExt};
  ASSERT_EQ(nvml()("nvmlDeviceGetPciInfoExt", nvml().gpu(0), &info), abi::kSuccess);
  EXPECT_EQ(info.base_class, 3U);
  EXPECT_EQ(info.sub_class, 2U);
  info.version = 1;
  EXPECT_EQ(nvml()("nvmlDeviceGetPciInfoExt", nvml().gpu(0), &info), abi::kArgumentVersionMismatch);
}

TEST_F(Device, SaysWhatItsModelIs) {
  start("mixed-models");
  const abi::Device t4 = nvml().gpu(0);
  int major = 0;
  int minor = 0;
  int brand = 0;
  ASSERT_EQ(nvml()("nvmlDeviceGetCudaComputeCapability", t4, &major, &minor), abi::kSuccess);
  EXPECT_EQ(std::pair(major, minor), std::pair(7, 5));
  ASSERT_EQ(nvml()("nvmlDeviceGetBrand", t4, &brand), abi::kSuccess);
  EXPECT_EQ(brand, 14);
  EXPECT_EQ(nvml().number("nvmlDeviceGetArchitecture", t4), 6U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetNumGpuCores", t4), 2560U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetBoardId", t4), 0x1700U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetMultiGpuBoard", t4), 0U);
  EXPECT_EQ(nvml().text("nvmlDeviceGetBoardPartNumber", t4), "900-2G183-A800-001");
  EXPECT_EQ(nvml().text("nvmlDeviceGetSerial", t4), world().gpus[0].serial);
}

TEST_F(Device, OfAConsumerKindLacksWhatOthersHave) {
  start("mixed-models");
  const abi::Device card = nvml().gpu(3);
  std::array<char, 96> text{};
  unsigned value = 0;
  unsigned other = 0;
  unsigned long long count = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetSerial", card, text.data(), 96U), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetBoardPartNumber", card, text.data(), 96U), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetEccMode", card, &value, &other), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetTotalEccErrors", card, 0, 0, &count), abi::kNotSupported);
  EXPECT_EQ(nvml()("nvmlDeviceGetMigMode", card, &value, &other), abi::kNotSupported);
  EXPECT_EQ(nvml().field(card, abi::kFieldEccDbeVolatile).result, abi::kNotSupported);
}

TEST_F(Device, SaysWhenTextDoesNotFit) {
  start("t4-single");
  std::array<char, 96> text{};
  EXPECT_EQ(nvml()("nvmlDeviceGetName", nvml().gpu(0), text.data(), 8U), abi::kInsufficientSize);
  EXPECT_EQ(nvml()("nvmlDeviceGetName", nvml().gpu(0), text.data(), 9U), abi::kSuccess);
  EXPECT_STREQ(text.data(), "Tesla T4");
}

TEST_F(Device, CountsTheDriversMemoryAsUsedOrReserved) {
  start("hgx-h200");
  apply(set_processes(0, {{.pid = 1, .memory_mib = 1000}, {.pid = 2, .memory_mib = 24}}));
  const abi::Device gpu = nvml().gpu(0);
  abi::Memory memory{};
  ASSERT_EQ(nvml()("nvmlDeviceGetMemoryInfo", gpu, &memory), abi::kSuccess);
  EXPECT_EQ(memory.total, 143771 * kMib);
  EXPECT_EQ(memory.used, (615 + 1024) * kMib);
  EXPECT_EQ(memory.free + memory.used, memory.total);
  abi::MemoryV2 second{.version = abi::kMemoryV2};
  ASSERT_EQ(nvml()("nvmlDeviceGetMemoryInfo_v2", gpu, &second), abi::kSuccess);
  EXPECT_EQ(second.reserved, 615 * kMib);
  EXPECT_EQ(second.used, 1024 * kMib);
  second.version = 1;
  EXPECT_EQ(nvml()("nvmlDeviceGetMemoryInfo_v2", gpu, &second), abi::kFunctionNotFound);
  ASSERT_EQ(nvml()("nvmlDeviceGetBAR1MemoryInfo", gpu, &memory), abi::kSuccess);
  EXPECT_EQ(memory.total, 262144 * kMib);
}

TEST_F(Device, ListsItsProcessesByKind) {
  start("hgx-h200");
  apply(set_processes(0, {{.pid = 7, .name = "train", .memory_mib = 512, .sm = 60, .memory = 20},
                          {.pid = 8, .name = "serve", .kind = Process::Kind::kMps}}));
  const abi::Device gpu = nvml().gpu(0);
  unsigned count = 0;
  abi::ProcessInfo* none = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetComputeRunningProcesses_v3", gpu, &count, none),
            abi::kInsufficientSize);
  EXPECT_EQ(count, 1U);
  std::array<abi::ProcessInfo, 4> infos{};
  count = 4;
  ASSERT_EQ(nvml()("nvmlDeviceGetComputeRunningProcesses_v3", gpu, &count, infos.data()),
            abi::kSuccess);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(infos[0].pid, 7U);
  EXPECT_EQ(infos[0].used_gpu_memory, 512 * kMib);
  EXPECT_EQ(infos[0].gpu_instance_id, abi::kNoInstance);
  count = 4;
  ASSERT_EQ(nvml()("nvmlDeviceGetMPSComputeRunningProcesses_v3", gpu, &count, infos.data()),
            abi::kSuccess);
  EXPECT_EQ(infos[0].pid, 8U);
  count = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetGraphicsRunningProcesses_v3", gpu, &count, none), abi::kSuccess);
  std::array<layout::ProcessInfoV1, 4> old{};
  count = 4;
  ASSERT_EQ(nvml()("nvmlDeviceGetComputeRunningProcesses", gpu, &count, old.data()), abi::kSuccess);
  EXPECT_EQ(old[0].used_gpu_memory, 512 * kMib);
  std::array<char, 32> name{};
  ASSERT_EQ(nvml()("nvmlSystemGetProcessName", 7U, name.data(), 32U), abi::kSuccess);
  EXPECT_STREQ(name.data(), "train");
  EXPECT_EQ(nvml()("nvmlSystemGetProcessName", 9U, name.data(), 32U), abi::kNotFound);
}

TEST_F(Device, SaysHowHardItsProcessesWork) {
  start("hgx-h200");
  const abi::Device gpu = nvml().gpu(0);
  unsigned count = 0;
  layout::ProcessUtilizationSample* none = nullptr;
  EXPECT_EQ(nvml()("nvmlDeviceGetProcessUtilization", gpu, none, &count, 0ULL),
            abi::kInsufficientSize);
  EXPECT_EQ(count, 72U);
  std::array<layout::ProcessUtilizationSample, 72> samples{};
  EXPECT_EQ(nvml()("nvmlDeviceGetProcessUtilization", gpu, samples.data(), &count, 0ULL),
            abi::kNotFound);
  apply(set_processes(0, {{.pid = 7, .sm = 60, .memory = 20}, {.pid = 8, .sm = 70}}));
  count = 72;
  ASSERT_EQ(nvml()("nvmlDeviceGetProcessUtilization", gpu, samples.data(), &count, 0ULL),
            abi::kSuccess);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(samples[0].sm, 60U);
  EXPECT_EQ(samples[0].memory, 20U);
  EXPECT_EQ(samples[1].pid, 8U);
  EXPECT_EQ(nvml()("nvmlDeviceGetProcessUtilization", gpu, samples.data(), &count,
                   samples[0].time_stamp + 60'000'000),
            abi::kNotFound);
  abi::Utilization rates{};
  ASSERT_EQ(nvml()("nvmlDeviceGetUtilizationRates", gpu, &rates), abi::kSuccess);
  EXPECT_EQ(rates.gpu, 100U);
  EXPECT_EQ(rates.memory, 20U);
}

TEST_F(Device, CountsErrorsUntilItIsReset) {
  start("hgx-h200");
  apply(uncorrectable_ecc(0));
  const abi::Device before = nvml().gpu(0);
  unsigned long long count = 0;
  ASSERT_EQ(nvml()("nvmlDeviceGetTotalEccErrors", before, 1, 0, &count), abi::kSuccess);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(nvml().field(before, abi::kFieldEccDbeVolatile).value.ull, 1U);
  EXPECT_EQ(nvml().field(before, abi::kFieldRecoveryAction).value.ui, 1U);
  EXPECT_EQ(nvml().field(before, abi::kFieldResetStatus).value.ui, 1U);
  EXPECT_EQ(nvml().field(before, abi::kFieldRemapPending).value.ull, 1U);
  const auto energy = nvml().field(before, abi::kFieldEnergy).value.ull;
  apply(reset(0));
  restart_session();
  const abi::Device after = nvml().gpu(0);
  EXPECT_EQ(nvml().field(after, abi::kFieldEccDbeVolatile).value.ull, 0U);
  EXPECT_EQ(nvml().field(after, abi::kFieldRecoveryAction).value.ui, 0U);
  EXPECT_LT(nvml().field(after, abi::kFieldEnergy).value.ull, energy);
  ASSERT_EQ(nvml()("nvmlDeviceGetTotalEccErrors", after, 1, 1, &count), abi::kSuccess);
  EXPECT_EQ(count, 1U);
  std::array<unsigned, 4> rows{};
  ASSERT_EQ(nvml()("nvmlDeviceGetRemappedRows", after, rows.data(), &rows[1], &rows[2], &rows[3]),
            abi::kSuccess);
  EXPECT_EQ(rows, (std::array<unsigned, 4>{0, 1, 0, 0}));
}

TEST_F(Device, RetiresPagesWhereItDoesNotRemapRows) {
  start("dgx1-v100");
  apply(uncorrectable_ecc(2));
  const abi::Device gpu = nvml().gpu(2);
  EXPECT_EQ(nvml().number("nvmlDeviceGetRetiredPagesPendingStatus", gpu), 1U);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldRetiredPending).value.ull, 1U);
  std::array<unsigned, 4> rows{};
  EXPECT_EQ(nvml()("nvmlDeviceGetRemappedRows", gpu, rows.data(), &rows[1], &rows[2], &rows[3]),
            abi::kNotSupported);
}

TEST_F(Device, KnowsNoFieldThatItsDriverHadNot) {
  start("dgx1-v100");  // R535
  const abi::Device gpu = nvml().gpu(0);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldRecoveryAction).result, abi::kInvalidArgument);
  EXPECT_EQ(nvml().field(gpu, 9999).result, abi::kInvalidArgument);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldNvLinkCount).value.ui, 6U);
}

TEST_F(Device, TellsItsVitals) {
  start("hgx-h200");
  apply(edit_gpu(0, [](Gpu& gpu) {
    gpu.vitals.temperature_c = 71;
    gpu.vitals.power_mw = 512'000;
    gpu.vitals.pcie_replays = 3;
    gpu.vitals.inforom_valid = false;
    gpu.vitals.energy_mj = 5'000'000'000;
  }));
  const abi::Device gpu = nvml().gpu(0);
  unsigned celsius = 0;
  unsigned long long energy = 0;
  ASSERT_EQ(nvml()("nvmlDeviceGetTemperature", gpu, 0, &celsius), abi::kSuccess);
  EXPECT_EQ(celsius, 71U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetPowerUsage", gpu), 512'000U);
  EXPECT_EQ(nvml().number("nvmlDeviceGetPcieReplayCounter", gpu), 3U);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldPcieReplay).value.ui, 3U);
  ASSERT_EQ(nvml()("nvmlDeviceGetTotalEnergyConsumption", gpu, &energy), abi::kSuccess);
  EXPECT_EQ(energy, 5'000'000'000U);
  EXPECT_EQ(nvml()("nvmlDeviceValidateInforom", gpu), abi::kCorruptedInforom);
  EXPECT_EQ(nvml()("nvmlDeviceValidateInforom", nvml().gpu(1)), abi::kSuccess);
}

TEST_F(Device, KeepsTheComputeModeThatWasSet) {
  start("hgx-h200");
  const abi::Device gpu = nvml().gpu(1);
  int mode = 9;
  ASSERT_EQ(nvml()("nvmlDeviceSetComputeMode", gpu, 3), abi::kSuccess);
  ASSERT_EQ(nvml()("nvmlDeviceGetComputeMode", gpu, &mode), abi::kSuccess);
  EXPECT_EQ(mode, 3);
  EXPECT_EQ(world().gpus[1].compute_mode, 3U);
  EXPECT_EQ(nvml()("nvmlDeviceSetComputeMode", gpu, 1), abi::kInvalidArgument);
}

TEST_F(Device, HasNoMemoryLimitsBeforeR615) {
  start("hgx-h200");
  const layout::SetMemoryLimits wanted{"/kubepods/a", 0, 1 << 30};
  EXPECT_EQ(nvml()("nvmlDeviceSetMemoryLimits_v1", nvml().gpu(0), &wanted), abi::kNotSupported);
}

TEST_F(Device, KeepsMemoryLimitsFromR615On) {
  World world_615 = *builtin_world("hgx-h200");
  world_615.driver.version = world_615.driver.module_version = "615.10.01";
  start(world_615);
  const abi::Device gpu = nvml().gpu(0);
  const layout::SetMemoryLimits wanted{"/kubepods/a", 1 << 20, 1 << 30};
  ASSERT_EQ(nvml()("nvmlDeviceSetMemoryLimits_v1", gpu, &wanted), abi::kSuccess);
  abi::MemoryLimits limits{.name_space = "/kubepods/a"};
  ASSERT_EQ(nvml()("nvmlDeviceGetMemoryLimits_v1", gpu, &limits), abi::kSuccess);
  EXPECT_EQ(limits.hard, 1U << 30);
  EXPECT_EQ(limits.soft, 1U << 20);
  limits.name_space = "/kubepods/b";
  EXPECT_EQ(nvml()("nvmlDeviceGetMemoryLimits_v1", gpu, &limits), abi::kNotFound);
  const layout::SetMemoryLimits wrong{"/kubepods/a", 2, 1};
  EXPECT_EQ(nvml()("nvmlDeviceSetMemoryLimits_v1", gpu, &wrong), abi::kInvalidArgument);
  const layout::SetMemoryLimits cleared{"/kubepods/a", 0, ~0ULL};
  ASSERT_EQ(nvml()("nvmlDeviceSetMemoryLimits_v1", gpu, &cleared), abi::kSuccess);
  EXPECT_TRUE(world().gpus[0].memory_limits.empty());
}

TEST_F(Device, OfADriverSaysItsVersions) {
  start("l40s");
  std::array<char, 80> text{};
  int cuda = 0;
  ASSERT_EQ(nvml()("nvmlSystemGetDriverVersion", text.data(), 80U), abi::kSuccess);
  EXPECT_STREQ(text.data(), "595.91.07");
  ASSERT_EQ(nvml()("nvmlSystemGetNVMLVersion", text.data(), 80U), abi::kSuccess);
  EXPECT_STREQ(text.data(), "13.595.91.07");
  ASSERT_EQ(nvml()("nvmlSystemGetCudaDriverVersion_v2", &cuda), abi::kSuccess);
  EXPECT_EQ(cuda, 13020);
  ASSERT_EQ(nvml()("nvmlSystemGetCudaDriverVersion", &cuda), abi::kSuccess);
  EXPECT_EQ(cuda, 13020);
}

TEST_F(Device, ThatIsUnreachableIsKnownFromMemoryAlone) {
  start("hgx-h200");
  apply(make_unreachable(2));
  const abi::Device gpu = nvml().gpu(2);
  EXPECT_EQ(nvml().text("nvmlDeviceGetUUID", gpu), world().gpus[2].uuid.text);
  EXPECT_EQ(nvml().text("nvmlDeviceGetName", gpu), "NVIDIA H200");
  unsigned celsius = 0;
  EXPECT_EQ(nvml()("nvmlDeviceGetTemperature", gpu, 0, &celsius), abi::kGpuIsLost);
  abi::Memory memory{};
  EXPECT_EQ(nvml()("nvmlDeviceGetMemoryInfo", gpu, &memory), abi::kGpuIsLost);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldPcieReplay).result, abi::kGpuIsLost);
  EXPECT_EQ(nvml().field(nvml().gpu(1), abi::kFieldPcieReplay).result, abi::kSuccess);
}

TEST_F(Device, CanFailInOneFieldAlone) {
  start("hgx-h200");
  apply(fail_call({.call = kFieldCall,
                   .code = abi::kResetRequired,
                   .times = 1,
                   .gpu = GpuRef(0U),
                   .field = abi::kFieldPcieReplay}));
  const abi::Device gpu = nvml().gpu(0);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldEnergy).result, abi::kSuccess);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldPcieReplay).result, abi::kResetRequired);
  EXPECT_EQ(nvml().field(gpu, abi::kFieldPcieReplay).result, abi::kSuccess);
}

TEST_F(Device, SaysWhichUnitsAwaitTheirRetirement) {
  start("hgx-h200");
  apply(edit_gpu(1, [](Gpu& gpu) { gpu.vitals.tpc_repair_pending = true; }));
  abi::RepairStatus status{.version = abi::kRepairStatusV1};
  ASSERT_EQ(nvml()("nvmlDeviceGetRepairStatus", nvml().gpu(1), &status), abi::kSuccess);
  EXPECT_EQ(status.channel_pending, 0U);
  EXPECT_EQ(status.tpc_pending, 1U);
  apply(reset(1));
  restart_session();
  ASSERT_EQ(nvml()("nvmlDeviceGetRepairStatus", nvml().gpu(1), &status), abi::kSuccess);
  EXPECT_EQ(status.tpc_pending, 0U);
}

}  // namespace
}  // namespace tranche::testbed::sim
