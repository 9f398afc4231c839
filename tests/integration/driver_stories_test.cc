// SPDX-License-Identifier: Apache-2.0
//
// What happens to GPUs and driver, and what the kubelet sees of it.
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "integration/node_story.h"
#include "node/driver/nvml/abi.h"
#include "os/files.h"
#include "testbed/worlds/builtin.h"

namespace tranche::tests {
namespace {

using testing::HasSubstr;
namespace abi = nvml::abi;

using DriverStory = NodeStory;

TEST_F(DriverStory, EveryGpuOfANodeIsRegisteredAndGranted) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  const auto response = granted("pod", {{kGpu, 2}});
  EXPECT_THAT(response.envs.at("NVIDIA_VISIBLE_DEVICES"),
              testing::MatchesRegex("GPU-[0-9a-f-]{36},GPU-[0-9a-f-]{36}"));
  stop_agent();
}

TEST_F(DriverStory, AnApplicationFaultIsClearedByPassingProbes) {
  // Long enough for a busy machine to see it between two probes.
  begin("hgx-h200", {"--health-check-interval=3s"});
  expect_allocatable(kGpu, 8);
  happens(sim::raise_xid(3, {.number = 94}));
  expect_allocatable(kGpu, 7);
  expect_log("device is unhealthy .*detail=\"XID 94: contained memory error\"");
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, AnIgnoredXidChangesNothing) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::raise_xid(3, {.number = 31}));
  expect_log("xid ignored by policy xid=31");
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 8);
}

TEST_F(DriverStory, DisablingAllAndEnablingSomeDoesWhatItSays) {
  begin("hgx-h200", {}, {{"DP_DISABLE_HEALTHCHECKS", "all"}, {"DP_ENABLE_HEALTHCHECKS", "140"}});
  expect_allocatable(kGpu, 8);
  happens(sim::raise_xid(3, {.number = 62}));
  expect_log("xid ignored by policy xid=62");
  happens(sim::raise_xid(4, {.number = 140}));
  expect_allocatable(kGpu, 7);
}

TEST_F(DriverStory, AGpuThatFallsOffTheBusComesBackWithAReset) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::fall_off(5));
  expect_allocatable(kGpu, 7);
  expect_capacity(kGpu, 8);
  happens(sim::come_back(5));
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, AnXidThatOnlyTheKernelLogsIsSeen) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::raise_xid(2, {.number = 119, .route = sim::Xid::Route::kLog}));
  expect_allocatable(kGpu, 7);
  expect_log("from=\"kernel log\"");
  happens(sim::reset(2));
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, ALostGpuStaysListedAndComesBack) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::lose(0));
  expect_allocatable(kGpu, 7);
  expect_capacity(kGpu, 8);
  happens(sim::come_back(0));
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, AnUncorrectableMemoryErrorNeedsAReset) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::uncorrectable_ecc(1));
  expect_allocatable(kGpu, 7);
  happens(sim::reset(1));
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, ADriverThatAsksForAResetIsHeard) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::set_recovery_action(6, 4));
  expect_allocatable(kGpu, 7);
  expect_log("the driver asks for: drain and reset");
  happens(sim::set_recovery_action(6, 0));
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, EverySliceOfAFaultyGpuTurnsUnhealthy) {
  begin("dgx-a100-mig-mixed", {"--mig-strategy=mixed"});
  expect_allocatable("nvidia.com/mig-3g.20gb", 3);
  expect_allocatable("nvidia.com/mig-1g.5gb", 9);
  happens(sim::raise_xid(5, {.number = 95}));
  expect_allocatable("nvidia.com/mig-3g.20gb", 2);
  expect_allocatable("nvidia.com/mig-2g.10gb", 1);
  expect_allocatable("nvidia.com/mig-1g.5gb", 7);
}

TEST_F(DriverStory, EveryReplicaOfAFaultyGpuTurnsUnhealthy) {
  write(
      "config.yaml",
      "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n");
  begin("t4-quad", {"--config-file=" + path("config.yaml")});
  expect_allocatable(kGpu, 16);
  happens(sim::raise_xid(0, {.number = 79, .route = sim::Xid::Route::kBoth}));
  expect_allocatable(kGpu, 12);
}

TEST_F(DriverStory, AnotherMigLayoutIsTakenUpWithoutARestart) {
  begin("dgx-h100", {"--mig-strategy=mixed"});
  expect_allocatable(kGpu, 8);
  const auto slice = sim::parse_wanted("3g.40gb");
  ASSERT_TRUE(slice);
  happens(sim::set_mig(7, {*slice, *slice}));
  expect_allocatable("nvidia.com/mig-3g.40gb", 2);
  expect_allocatable(kGpu, 7);
  happens(sim::mig_off(7));
  expect_allocatable(kGpu, 8);
  expect_capacity("nvidia.com/mig-3g.40gb", 0);
}

TEST_F(DriverStory, AGpuPluggedInOrTakenOutIsNoticed) {
  begin("t4-quad");
  expect_allocatable(kGpu, 4);
  const auto world = node_->world();
  ASSERT_TRUE(world);
  const sim::Gpu last = world->gpus.back();
  happens(sim::unplug(3));
  expect_capacity(kGpu, 3);
  happens(sim::plug(last));
  expect_allocatable(kGpu, 4);
}

TEST_F(DriverStory, ADriverThatIsReloadedIsTakenUpAgain) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::unload_driver());
  expect_allocatable(kGpu, 0);
  expect_capacity(kGpu, 8);
  happens(sim::load_driver());
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, ADriverThatIsLoadedLateIsWaitedFor) {
  make_node("hgx-h200");
  happens(sim::unload_driver());
  start_kubelet();
  start_agent({"--fail-on-init-error=false"});
  expect_log("cannot read the driver");
  happens(sim::load_driver());
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, AMissingDriverEndsTheProcessAtStartWithTheReason) {
  make_node("hgx-h200");
  happens(sim::unload_driver());
  start_kubelet();
  start_agent();
  const auto end = agent_->wait_for_end(kPatience);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 1);
  EXPECT_THAT(agent_->output(), HasSubstr("--fail-on-init-error"));
  EXPECT_THAT(agent_->output(), HasSubstr("nvmlInit"));
}

TEST_F(DriverStory, ACallThatHangsCostsItsGpuAndNoOther) {
  begin("hgx-h200", {"--driver-call-timeout=300ms"});
  expect_allocatable(kGpu, 8);
  happens(sim::block_call("nvmlDeviceGetUUID", sim::GpuRef(2U)));
  expect_allocatable(kGpu, 7);
  happens(sim::raise_xid(5, {.number = 79, .route = sim::Xid::Route::kEvent}));
  expect_allocatable(kGpu, 6);
  happens(sim::clear_faults());
  expect_allocatable(kGpu, 7);
  stop_agent();
}

TEST_F(DriverStory, AHungAgentStillStops) {
  begin("t4-single", {"--driver-call-timeout=300ms"});
  expect_allocatable(kGpu, 1);
  happens(sim::block_call("nvmlDeviceGetUUID"));
  expect_allocatable(kGpu, 0);
  stop_agent();
}

TEST_F(DriverStory, ACallThatFailsOnceChangesNothing) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::fail_call({.call = "nvmlDeviceGetUUID", .code = abi::kUnknown, .times = 1}));
  happens(sim::raise_xid(7, {.number = 140}));  // so that we know the driver was read since
  expect_allocatable(kGpu, 7);
  happens(sim::reset(7));
  expect_allocatable(kGpu, 8);
  EXPECT_THAT(agent_->output(), testing::Not(HasSubstr("nvmlDeviceGetUUID")));
}

TEST_F(DriverStory, AFaultThatNeedsAResetOutlivesARestartOfTheAgent) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::raise_xid(3, {.number = 79, .route = sim::Xid::Route::kBoth}));
  expect_allocatable(kGpu, 7);
  kill_agent();
  start_agent();
  expect_log("fault remembered from before the start");
  expect_allocatable(kGpu, 7);
  kill_agent();
  happens(sim::reboot());
  start_agent();
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, AStateFolderThatCannotBeMadeIsSaidAndCostsNoGpu) {
  write("in-the-way", "");
  begin("hgx-h200", {"--state-dir=" + path("in-the-way/state")});
  expect_allocatable(kGpu, 8);
  expect_log("commands cannot reach this agent");
  happens(sim::raise_xid(3, {.number = 79, .route = sim::Xid::Route::kBoth}));
  expect_allocatable(kGpu, 7);
  expect_log("cannot write the open faults");
}

TEST_F(DriverStory, AStateFolderThatOthersCouldWriteIsTakenFromThemAndThatIsLogged) {
  ASSERT_TRUE(make_directories(path("state")));
  ASSERT_EQ(::chmod(path("state").c_str(), 0777), 0);
  begin("t4-single");
  expect_log("others could write the state folder; .* was=0777 mode=0755");
  expect_allocatable(kGpu, 1);
}

// What lies in it is believed, and commands come through it.
TEST_F(DriverStory, AStateFolderThatIsEverybodysIsNotUsed) {
  ASSERT_TRUE(make_directories(path("tmp")));
  ASSERT_EQ(::chmod(path("tmp").c_str(), 01777), 0);
  begin("t4-single", {"--state-dir=" + path("tmp")});
  const auto end = agent_->wait_for_end(kPatience);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 1);
  EXPECT_THAT(agent_->output(), HasSubstr("the state folder is not ours alone"));
  EXPECT_THAT(agent_->output(), HasSubstr("is everybody's; give a folder in it"));
}

TEST_F(DriverStory, TheH200ThatWasCapturedIsServed) {
  begin("captured-h200");
  expect_allocatable(kGpu, 1);
  happens(sim::raise_xid(0, {.number = 140}));
  expect_allocatable(kGpu, 0);
}

TEST_F(DriverStory, TheAgentLetsGoOfTheDriverOnCommand) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  const auto released = command({"release"});
  EXPECT_EQ(released.exit_code, 0) << released.error;
  expect_allocatable(kGpu, 0);
  expect_capacity(kGpu, 8);
  EXPECT_EQ(command({"resume"}).exit_code, 0);
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, ReleasingSingleGpusKeepsTheOthersOffered) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  const auto released = command({"release", "2", "0000:df:00.0"});
  EXPECT_EQ(released.exit_code, 0) << released.error;
  EXPECT_THAT(released.output, HasSubstr("the other GPUs stay offered"));
  expect_allocatable(kGpu, 6);
  happens(sim::raise_xid(5, {.number = 79, .route = sim::Xid::Route::kBoth}));
  expect_allocatable(kGpu, 5);
  EXPECT_EQ(command({"resume"}).exit_code, 0);
  expect_allocatable(kGpu, 7);
  const auto wrong = command({"release", "99"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.error, testing::AllOf(HasSubstr(": node "), HasSubstr("there is no GPU '99'")));
}

TEST_F(DriverStory, TheAgentLetsGoOfTheDriverOnASignal) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  ASSERT_TRUE(agent_->signal(SIGUSR1));
  expect_allocatable(kGpu, 0);
  ASSERT_TRUE(agent_->signal(SIGUSR2));
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, AReleaseHasNoFileOfTheDriverOpen) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  const auto maps = [&] {
    std::ifstream file("/proc/" + std::to_string(agent_->pid()) + "/maps");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_THAT(maps(), HasSubstr("libnvidia-ml.so"));
  ASSERT_TRUE(agent_->signal(SIGUSR1));
  expect_allocatable(kGpu, 0);
  expect_log("driver closed by release");
  EXPECT_THAT(maps(), testing::Not(HasSubstr("libnvidia-ml.so")));
}

TEST_F(DriverStory, GpusAreFoundByTheirNodesWhereThereIsNoLibrary) {
  make_node("l4-pcie");
  std::filesystem::remove(node_->driver_library());
  start_kubelet();
  start_agent({"--pass-device-specs"});
  expect_allocatable(kGpu, 8);
  const auto response = granted("pod", {{kGpu, 1}});
  EXPECT_THAT(response.devices, testing::Not(testing::IsEmpty()));
  happens(sim::raise_xid(1, {.number = 62, .route = sim::Xid::Route::kLog}));
  expect_allocatable(kGpu, 7);
}

// As while a driver's container is replaced: nodes that are left say nothing of health.
TEST_F(DriverStory, ALibraryThatIsAwayForAWhileIsNoReasonToBelieveInNodes) {
  begin("l4-pcie");
  expect_allocatable(kGpu, 8);
  const std::string library = node_->driver_library();
  std::filesystem::rename(library, library + ".away");
  EXPECT_EQ(command({"release"}).exit_code, 0);
  expect_allocatable(kGpu, 0);
  // The release is over, and the command says that the driver is not there.
  EXPECT_EQ(command({"resume"}).exit_code, 1);
  expect_log("cannot read the driver.*libnvidia-ml");
  EXPECT_EQ(kubelet_->node().allocatable(kGpu), 0);
  std::filesystem::rename(library + ".away", library);
  expect_allocatable(kGpu, 8);
}

TEST_F(DriverStory, ADriverOfTheR470BranchIsServed) {
  const auto parsed = sim::builtin_world("dgx-a100-mig-mixed");
  ASSERT_TRUE(parsed);
  const auto made = sim::SimulatedNode::create(
      dir_.path("root"), *parsed, {.library = TRANCHE_OLD_LIBRARY, .plain_files = true});
  ASSERT_TRUE(made) << made.error().message;
  node_ = *made;
  start_kubelet();
  start_agent({"--mig-strategy=mixed"});
  expect_allocatable(kGpu, 4);
  expect_allocatable("nvidia.com/mig-3g.20gb", 3);
  happens(sim::raise_xid(0, {.number = 48}));
  expect_allocatable(kGpu, 3);
  happens(sim::reset(0));
  expect_allocatable(kGpu, 4);
}

}  // namespace
}  // namespace tranche::tests
