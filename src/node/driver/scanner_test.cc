// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "node/driver/testing/scanner_on_a_script.h"

namespace tranche::node {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST_F(ScannerOnAScript, ShowsWhatTheDriverHas) {
  source_.has_gpus(2);
  EXPECT_TRUE(a_scanner()->begin(options_));
  EXPECT_THAT(shown_.get().value->gpus, SizeIs(2));
}

TEST_F(ScannerOnAScript, SaysWhyTheDriverCannotBeRead) {
  source_.is_in_trouble("Driver Not Loaded");
  const Status begun = a_scanner()->begin(options_);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().message, "Driver Not Loaded");
}

TEST_F(ScannerOnAScript, KeepsTheLastListWhenTheDriverGoesAndReadsItAgainWhenItComes) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  source_.is_in_trouble("Driver Not Loaded");
  EXPECT_FALSE(scanner->scan_once());
  EXPECT_THAT(unhealthy(*shown_.get().value), ElementsAre("GPU-0", "GPU-1"));
  source_.is_in_trouble("");
  EXPECT_TRUE(scanner->scan_once());
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
}

TEST_F(ScannerOnAScript, LogsADriverInTroubleOnce) {
  source_.is_in_trouble("Driver Not Loaded");
  const auto scanner = a_scanner();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(scanner->scan_once());
  EXPECT_THAT(lines_, SizeIs(1));
}

TEST_F(ScannerOnAScript, FoldsEventsAndClearsThemByReadings) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  source_.raise({.kind = DriverEvent::Kind::kXid, .gpu = GpuUuid("GPU-1"), .xid = 94});
  until_unhealthy({"GPU-1"});
  until_unhealthy({});
}

TEST_F(ScannerOnAScript, ReadsTheKernelLogForWhatTheDriverDoesNotDeliver) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  std::ofstream(dir_.path("dev/kmsg"), std::ios::app)
      << "4,1,1,-;NVRM: Xid (PCI:0000:10:00): 62, the driver tells of this one\n"
      << "4,1,1,-;NVRM: Xid (PCI:0000:11:00): 119, Timeout after 6s\n";
  until_unhealthy({"GPU-1"});
}

TEST_F(ScannerOnAScript, RemembersAFaultAcrossARestart) {
  source_.has_gpus(2);
  {
    const auto scanner = a_scanner();
    ASSERT_TRUE(scanner->begin(options_));
    std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
    source_.raise({.kind = DriverEvent::Kind::kXid, .gpu = GpuUuid("GPU-1"), .xid = 79});
    until_unhealthy({"GPU-1"});
  }
  const auto again = a_scanner();
  ASSERT_TRUE(again->begin(options_));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(again->scan_once());
  EXPECT_THAT(unhealthy(*shown_.get().value), ElementsAre("GPU-1"));

  std::ofstream(dir_.path("proc/sys/kernel/random/boot_id")) << "boot-2\n";
  ASSERT_TRUE(a_scanner()->begin(options_));
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
}

TEST_F(ScannerOnAScript, KeepsALostGpuListedAcrossARestart) {
  source_.has_gpus(2);
  {
    const auto scanner = a_scanner();
    ASSERT_TRUE(scanner->begin(options_));
    source_.has_gpus(1);
    ASSERT_TRUE(scanner->scan_once());
  }
  ASSERT_TRUE(a_scanner()->begin(options_));
  EXPECT_THAT(shown_.get().value->gpus, SizeIs(2));
  EXPECT_THAT(unhealthy(*shown_.get().value), ElementsAre("GPU-1"));
}

TEST_F(ScannerOnAScript, ForgetsAReplacedGpuThatItRemembersFromBeforeTheStart) {
  source_.has_gpus(2);
  {
    const auto scanner = a_scanner();
    ASSERT_TRUE(scanner->begin(options_));
    source_.has_gpus(1);  // GPU 1 is lost
    ASSERT_TRUE(scanner->scan_once());
  }
  Gpu card = a_gpu(1);
  card.uuid = GpuUuid("GPU-new");
  source_.has({{.index = 0, .gpu = a_gpu(0)}, {.index = 1, .gpu = card}});
  ASSERT_TRUE(a_scanner()->begin(options_));
  ASSERT_THAT(shown_.get().value->gpus, SizeIs(2));
  EXPECT_EQ(shown_.get().value->gpus[1].uuid, GpuUuid("GPU-new"));
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
  // Once.
  EXPECT_THAT(lines_,
              testing::Contains(testing::AllOf(HasSubstr("is in the slot"), HasSubstr("was GPU-1"),
                                               HasSubstr("GPU-new"))));
  EXPECT_THAT(lines_, testing::Not(testing::Contains(HasSubstr("another card is in its slot"))));
}

TEST_F(ScannerOnAScript, GivesXidsOfANewCardToTheNewCard) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  source_.is_in_trouble("Driver Not Loaded");
  EXPECT_FALSE(scanner->scan_once());
  // The new card fails before the agent has seen it.
  Gpu card = a_gpu(1);
  card.uuid = GpuUuid("GPU-new");
  source_.has({{.index = 0, .gpu = a_gpu(0)}, {.index = 1, .gpu = card}});
  source_.is_in_trouble("");
  std::ofstream(dir_.path("dev/kmsg"), std::ios::app)
      << "4,1,1,-;NVRM: Xid (PCI:0000:11:00): 79, GPU has fallen off the bus.\n";
  ASSERT_TRUE(scanner->scan_once());
  EXPECT_THAT(unhealthy(*shown_.get().value), ElementsAre("GPU-new"));
}

TEST_F(ScannerOnAScript, LeavesXidsOfTheOldCardToTheOldCard) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  // One seen when the driver goes away, and one with the uuid in the log.
  std::ofstream log(dir_.path("dev/kmsg"), std::ios::app);
  log << "4,1,1,-;NVRM: Xid (PCI:0000:11:00): 79, GPU has fallen off the bus.\n" << std::flush;
  source_.is_in_trouble("Driver Not Loaded");
  EXPECT_FALSE(scanner->scan_once());
  log << "4,2,2,-;NVRM: GPU at PCI:0000:11:00: GPU-1\n"
      << "4,3,3,-;NVRM: Xid (PCI:0000:11:00): 119, Timeout\n"
      << std::flush;
  Gpu card = a_gpu(1);
  card.uuid = GpuUuid("GPU-new");
  source_.has({{.index = 0, .gpu = a_gpu(0)}, {.index = 1, .gpu = card}});
  source_.is_in_trouble("");
  ASSERT_TRUE(scanner->scan_once());
  EXPECT_EQ(shown_.get().value->gpus.at(1).uuid, GpuUuid("GPU-new"));
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("xid=119 gpu=GPU-1")));
}

TEST_F(ScannerOnAScript, GoesOnWhereItsMemoryIsUnreadable) {
  std::ofstream(dir_.path("faults.json")) << "{ not json";
  source_.has_gpus(1);
  EXPECT_TRUE(a_scanner()->begin(options_));
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("cannot parse the faults of earlier runs")));
}

TEST_F(ScannerOnAScript, GoesOnWhereItsMemoryCannotBeWritten) {
  source_.has_gpus(1);
  Scanner scanner(source_, KernelFiles(dir_.path()), dir_.path("nowhere/faults.json"), log_,
                  [this](const Inventory& i) { shown_.publish(i); });
  ASSERT_TRUE(scanner.begin(options_));
  source_.has({{.index = 0, .failure = GpuFailure{FailureKind::kLost, "lost"}}});
  ASSERT_TRUE(scanner.scan_once());
  EXPECT_THAT(unhealthy(*shown_.get().value), ElementsAre("GPU-0"));
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("cannot write the open faults")));
}

TEST_F(ScannerOnAScript, OpensAFreshSessionForALostGpu) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  source_.has({{.index = 0, .gpu = a_gpu(0)},
               {.index = 1, .failure = GpuFailure{FailureKind::kLost, "GPU is lost"}}});
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  until_unhealthy({"GPU-1"});
  source_.has_gpus(2);
  until_unhealthy({});
  EXPECT_GT(source_.opens(), 1U);
}

TEST_F(ScannerOnAScript, ReopensTheDriverWhenTheKernelHasOtherGpus) {
  source_.has_gpus(1);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  ASSERT_TRUE(scanner->scan_once());
  EXPECT_EQ(source_.opens(), 1U);
  std::filesystem::create_directories(dir_.path("sys/bus/pci/drivers/nvidia/0000:11:00.0"));
  ASSERT_TRUE(scanner->scan_once());
  EXPECT_EQ(source_.opens(), 2U);
  ASSERT_TRUE(scanner->scan_once());
  EXPECT_EQ(source_.opens(), 2U);
}

TEST_F(ScannerOnAScript, ClosesTheDriverOnReleaseAndReopensItOnResume) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  scanner->release({});
  until_unhealthy({"GPU-0", "GPU-1"});
  source_.until_closed();
  scanner->resume();
  until_unhealthy({});
  EXPECT_TRUE(source_.is_open());
}

TEST_F(ScannerOnAScript, ReleasesOneGpuAndReadsXidsOfTheOthersFromTheKernel) {
  source_.has_gpus(3);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  scanner->release({GpuUuid("GPU-1")});
  until_unhealthy({"GPU-1"});
  source_.until_closed();
  std::ofstream(dir_.path("dev/kmsg"), std::ios::app)
      << "4,1,1,-;NVRM: Xid (PCI:0000:11:00): 79, somebody is resetting it\n"
      << "4,1,1,-;NVRM: Xid (PCI:0000:12:00): 48, usually left to the driver to tell of\n";
  until_unhealthy({"GPU-1", "GPU-2"});
  EXPECT_FALSE(source_.is_open());
  scanner->resume();
  until_unhealthy({"GPU-2"});
}

TEST_F(ScannerOnAScript, CallsNoUnwatchedGpuHealthy) {
  source_.has_gpus(3);
  std::filesystem::remove(dir_.path("dev/kmsg"));
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  scanner->release({GpuUuid("GPU-1")});
  until_unhealthy({"GPU-0", "GPU-1", "GPU-2"});
  scanner->resume();
  until_unhealthy({});
}

TEST_F(ScannerOnAScript, SaysWhenTheDriverIsClosedAndWhenItIsReadAgain) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  EXPECT_FALSE(scanner->is_released());
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  EXPECT_EQ(scanner->wait_for(scanner->release({}), kLong), "");
  EXPECT_FALSE(source_.is_open());
  EXPECT_TRUE(scanner->is_released());
  EXPECT_EQ(scanner->wait_for(scanner->resume(), kLong), "");
  EXPECT_TRUE(source_.is_open());
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
  EXPECT_FALSE(scanner->is_released());
}

TEST_F(ScannerOnAScript, SaysWhatKeepsTheDriverOpen) {
  source_.has_gpus(1);
  source_.holds_on("nvmlDeviceGetName");
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  const std::uint64_t request = scanner->release({});
  // The scanner has not seen the request yet.
  EXPECT_THAT(scanner->wait_for(request, std::chrono::milliseconds(0)),
              HasSubstr("has not returned"));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  source_.until_closed();
  until_unhealthy({"GPU-0"});
  until_kept_open(*scanner, request, "nvmlDeviceGetName");
  EXPECT_EQ(shown_.get().value->still_open, "nvmlDeviceGetName");
  const auto says_closed = [&] {
    const std::lock_guard lock(lines_mutex_);
    return std::ranges::any_of(lines_, [](const std::string& line) {
      return line.find("driver closed by release") != std::string::npos;
    });
  };
  EXPECT_FALSE(says_closed());
  source_.holds_on("");
  EXPECT_EQ(scanner->wait_for(request, kLong), "");
  EXPECT_EQ(shown_.get().value->still_open, "");
  EXPECT_TRUE(says_closed());
}

TEST_F(ScannerOnAScript, WaitsForNothingOnceItIsToEnd) {
  source_.has_gpus(1);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  scanner->end_waits();
  EXPECT_THAT(scanner->wait_for(scanner->release({}), std::chrono::hours(1)), Not(IsEmpty()));
}

}  // namespace
}  // namespace tranche::node
