// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"

namespace tranche::programs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

PlacedHolding held(const std::string& pod, const std::string& device, const std::string& gpu) {
  return {.holding = {.resource = "nvidia.com/gpu", .holder = {"default", pod, "", "main"}},
          .devices = {{.device = device, .gpu = gpu}}};
}

// GPU 1 of two, with a pod on each.
ReleaseReport one_released() {
  return {.node = "gpu-7",
          .patience = std::chrono::seconds(20),
          .gpus = {a_gpu(1)},
          .all_gpus = false,
          .holdings = {{held("train-0", "GPU-0", "GPU-0"), held("train-1", "GPU-1", "GPU-1")}},
          .follows_kernel_log = true,
          .users = {.is_complete = true}};
}

std::string answer(const ReleaseReport& report) {
  const Result<std::string> answer = release_answer(report);
  return answer ? *answer : "error: " + answer.error().message;
}

TEST(Release, NamesNodeGpuPciAddressAndPods) {
  EXPECT_EQ(
      answer(one_released()),
      "node gpu-7\n"
      "released GPU 1 (GPU-1, PCI address 0000:11:00.0)\n"
      "  held by default/train-1, container main, as nvidia.com/gpu; delete this pod before "
      "a reset\n"
      "driver closed\n"
      "the other GPUs stay offered; until 'resume' their faults are read from the kernel log only\n"
      "'resume' reopens it; restarting the agent does not");
}

TEST(Release, NamesThePodOnAMigDeviceOfTheGpu) {
  ReleaseReport report = one_released();
  report.holdings = {{held("slice", "MIG-1-0", "GPU-1")}};
  EXPECT_THAT(answer(report), HasSubstr("held by default/slice"));
}

TEST(Release, SaysThatNoPodHoldsTheGpuOrThatNobodyKnows) {
  ReleaseReport report = one_released();
  report.holdings = {{held("train-0", "GPU-0", "GPU-0")}};
  EXPECT_THAT(answer(report), HasSubstr("  no pod holds it\n"));
  report.holdings.reset();
  EXPECT_THAT(answer(report), HasSubstr("  which pods hold it is not known\n"));
}

TEST(Release, SaysWhatKeepsTheDriverOpen) {
  ReleaseReport report = one_released();
  report.still_open = "a driver call of the agent has not returned: nvmlDeviceGetName";
  EXPECT_THAT(answer(report),
              AllOf(HasSubstr("error: node gpu-7\n"), HasSubstr("train-1"),
                    HasSubstr("driver NOT closed after 20000 ms: a driver call of the "
                              "agent has not returned: nvmlDeviceGetName"),
                    Not(HasSubstr("driver closed"))));
}

TEST(Release, NamesProcessesThatHaveTheGpuOpen) {
  ReleaseReport report = one_released();
  report.users.found = {{4242, "python3", "/dev/nvidia1"}};
  EXPECT_THAT(answer(report), HasSubstr("/dev/nvidia1 is open in process 4242 (python3)\n"));
  EXPECT_THAT(answer(report), Not(HasSubstr("fuser")));
  report.users.is_complete = false;
  EXPECT_THAT(answer(report), HasSubstr("`fuser -v /dev/nvidia1`"));
}

TEST(Release, SaysWhatBecomesOfTheOtherGpus) {
  ReleaseReport report = one_released();
  report.follows_kernel_log = false;
  EXPECT_THAT(answer(report), HasSubstr("no GPU is healthy until 'resume'"));
  report.all_gpus = true;
  EXPECT_THAT(answer(report), Not(HasSubstr("no GPU is healthy")));
}

TEST(Release, SaysThatMpsDaemonsStay) {
  ReleaseReport report = one_released();
  EXPECT_THAT(answer(report), Not(HasSubstr("MPS")));
  report.mps_daemons = {"GPU-1"};
  EXPECT_THAT(answer(report), HasSubstr("MPS daemon GPU-1 stays on its GPU"));
}

TEST(Release, SaysThatARestartWouldEndIt) {
  ReleaseReport report = one_released();
  report.not_kept = "disk full";
  EXPECT_THAT(answer(report), HasSubstr("the release cannot be kept: disk full"));
}

TEST(Release, WaitsForCallsThatHangToBeGivenUpAndNotForEver) {
  using std::chrono::milliseconds;
  EXPECT_EQ(release_patience(milliseconds(300)), milliseconds(1200));
  EXPECT_EQ(release_patience(milliseconds(60'000)), milliseconds(20'000));
}

TEST(Resume, SaysThatNothingIsReleased) {
  EXPECT_EQ(*resume_answer({.node = "gpu-7", .was_released = false}),
            "node gpu-7\nnothing is released here, so there is nothing to resume");
}

TEST(Resume, SaysHowTheGpusAre) {
  ResumeReport report{.node = "gpu-7",
                      .released = {GpuUuid("GPU-0"), GpuUuid("GPU-1"), GpuUuid("GPU-9")},
                      .inventory = a_node(2)};
  report.inventory.gpus[1].health.troubles = {"XID 79: the GPU fell off the bus"};
  report.inventory.remedies = {{"GPU-1", "XID 79: the GPU fell off the bus", "a reset"}};
  EXPECT_EQ(*resume_answer(report),
            "node gpu-7\n"
            "driver open\n"
            "GPU 0 (GPU-0, PCI address 0000:10:00.0): healthy\n"
            "GPU 1 (GPU-1, PCI address 0000:11:00.0): unhealthy\n"
            "  XID 79: the GPU fell off the bus\n"
            "    cleared by: a reset\n"
            "GPU-9 is no longer in this node");
}

TEST(Resume, SaysThatTheDriverCannotBeRead) {
  ResumeReport report{.node = "gpu-7", .inventory = a_node(1)};
  report.inventory.driver_trouble = "Driver Not Loaded";
  EXPECT_THAT(resume_answer(report).error().message, HasSubstr("Driver Not Loaded"));
  report.waits_for = "a driver call of the agent has not returned";
  EXPECT_THAT(resume_answer(report).error().message, HasSubstr("has not returned"));
}

}  // namespace
}  // namespace tranche::programs
