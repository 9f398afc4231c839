// SPDX-License-Identifier: Apache-2.0
#include "inventory/scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/latest.h"
#include "base/testing/temp_dir.h"
#include "gpu/testing/literals.h"

namespace tranche {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A driver of which a test says what it has and what happens to it.
class ScriptedSource final : public GpuSource {
 public:
  Status open() override {
    const std::lock_guard lock(mutex_);
    ++opens_;
    if (!trouble_.empty()) return Error{ErrorCode::kUnavailable, trouble_};
    open_ = true;
    return Done{};
  }
  void close() override {
    const std::lock_guard lock(mutex_);
    open_ = false;
    raised_.notify_all();
  }
  Result<DriverReading> read(const ReadWish&) override {
    const std::lock_guard lock(mutex_);
    if (!trouble_.empty()) return Error{ErrorCode::kUnavailable, trouble_};
    return DriverReading{
        .kind = DriverKind::kNvml, .driver_version = "580", .session = opens_, .gpus = gpus_};
  }
  Result<std::vector<DriverEvent>> wait(milliseconds at_most) override {
    std::unique_lock lock(mutex_);
    raised_.wait_for(lock, at_most, [&] { return !events_.empty(); });
    return std::exchange(events_, {});
  }

  void has(std::vector<GpuReading> gpus) {
    const std::lock_guard lock(mutex_);
    gpus_ = std::move(gpus);
  }
  void has_gpus(unsigned count) {
    std::vector<GpuReading> gpus;
    for (unsigned i = 0; i < count; ++i) gpus.push_back({.index = i, .gpu = a_gpu(i)});
    has(std::move(gpus));
  }
  void is_in_trouble(std::string trouble) {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(trouble);
  }
  void raise(const DriverEvent& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    raised_.notify_all();
  }
  void until_closed() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(raised_.wait_for(lock, std::chrono::seconds(30), [&] { return !open_; }));
  }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return open_;
  }
  unsigned opens() {
    const std::lock_guard lock(mutex_);
    return opens_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable raised_;
  std::vector<GpuReading> gpus_;
  std::vector<DriverEvent> events_;
  std::string trouble_;
  bool open_ = false;
  unsigned opens_ = 0;
};

std::vector<std::string> unhealthy(const Inventory& inventory) {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : inventory.gpus) {
    if (!gpu.health.ok()) uuids.push_back(gpu.uuid.text);
  }
  return uuids;
}

class ScannerOnAScript : public testing::Test {
 protected:
  ScannerOnAScript() {
    std::filesystem::create_directories(dir_.path("dev"));
    std::ofstream(dir_.path("dev/kmsg")) << "";
    std::filesystem::create_directories(dir_.path("proc/sys/kernel/random"));
    std::ofstream(dir_.path("proc/sys/kernel/random/boot_id")) << "boot-1\n";
    options_.interval = milliseconds(5);
  }

  std::unique_ptr<Scanner> a_scanner() {
    return std::make_unique<Scanner>(source_, HostFiles(dir_.path()), dir_.path("faults.json"),
                                     log_, [this](const Inventory& i) { shown_.publish(i); });
  }

  // Runs the scanner until its inventory is as wished.
  template <typename Wish>
  void until(Wish wish) {
    std::uint64_t seen = 0;
    while (true) {
      const auto latest = shown_.wait_newer(seen, std::chrono::seconds(30));
      if (wish(*latest.value)) return;
      ASSERT_NE(latest.version, seen) << "no news for too long";
      seen = latest.version;
    }
  }
  void until_unhealthy(const std::vector<std::string>& uuids) {
    until([&](const Inventory& inventory) { return unhealthy(inventory) == uuids; });
  }

  TempDir dir_;
  ScriptedSource source_;
  Latest<Inventory> shown_;
  HealthOptions options_;
  std::mutex lines_mutex_;
  std::vector<std::string> lines_;
  Log log_{[this](std::string_view line) {
    const std::lock_guard lock(lines_mutex_);
    lines_.emplace_back(line);
  }};
};

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

TEST_F(ScannerOnAScript, KeepsTheLastListWhenTheDriverGoesAndTakesItUpWhenItComes) {
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
  EXPECT_THAT(lines_, testing::Contains(testing::AllOf(HasSubstr("another card is in its slot"),
                                                       HasSubstr("GPU-1"), HasSubstr("GPU-new"))));
}

TEST_F(ScannerOnAScript, GivesXidsOfANewCardToTheNewCard) {
  source_.has_gpus(2);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  source_.is_in_trouble("Driver Not Loaded");
  EXPECT_FALSE(scanner->scan_once());
  // The card is swapped, and the new one fails before the agent has seen it.
  Gpu card = a_gpu(1);
  card.uuid = GpuUuid("GPU-new");
  source_.has({{.index = 0, .gpu = a_gpu(0)}, {.index = 1, .gpu = card}});
  source_.is_in_trouble("");
  std::ofstream(dir_.path("dev/kmsg"), std::ios::app)
      << "4,1,1,-;NVRM: Xid (PCI:0000:11:00): 79, GPU has fallen off the bus.\n";
  ASSERT_TRUE(scanner->scan_once());
  EXPECT_THAT(unhealthy(*shown_.get().value), ElementsAre("GPU-new"));
}

TEST_F(ScannerOnAScript, GoesOnWhereItsMemoryIsUnreadable) {
  std::ofstream(dir_.path("faults.json")) << "{ not json";
  source_.has_gpus(1);
  EXPECT_TRUE(a_scanner()->begin(options_));
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("earlier faults cannot be understood")));
}

TEST_F(ScannerOnAScript, GoesOnWhereItsMemoryCannotBeWritten) {
  source_.has_gpus(1);
  Scanner scanner(source_, HostFiles(dir_.path()), dir_.path("nowhere/faults.json"), log_,
                  [this](const Inventory& i) { shown_.publish(i); });
  ASSERT_TRUE(scanner.begin(options_));
  source_.has({{.index = 0, .failure = GpuFailure{FailureKind::kLost, "lost"}}});
  ASSERT_TRUE(scanner.scan_once());
  EXPECT_THAT(unhealthy(*shown_.get().value), ElementsAre("GPU-0"));
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("faults cannot be written down")));
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

TEST_F(ScannerOnAScript, OpensTheDriverAnewWhenTheKernelHasOtherGpus) {
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

TEST_F(ScannerOnAScript, LetsGoOfTheDriverOnRequestAndTakesItUpAgain) {
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

TEST_F(ScannerOnAScript, LetsGoOfOneGpuAndHearsOfTheOthersFromTheKernel) {
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

TEST_F(ScannerOnAScript, CallsNobodyHealthyWhomNobodyWatches) {
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

// The GPUs of these slots, as a driver counts them.
std::vector<GpuReading> counted(const std::vector<unsigned>& slots) {
  std::vector<GpuReading> gpus;
  for (const unsigned slot : slots) {
    Gpu gpu = a_gpu(slot);
    gpu.index = static_cast<unsigned>(gpus.size());
    gpus.push_back({.index = gpu.index, .gpu = std::move(gpu)});
  }
  return gpus;
}

class ScannersNumbers : public ScannerOnAScript {
 protected:
  std::vector<std::string> numbered() {
    std::vector<std::string> gpus;
    for (const Gpu& gpu : shown_.get().value->gpus) {
      gpus.push_back(std::to_string(gpu.index) + "=" + gpu.uuid.text);
    }
    return gpus;
  }
  bool has_said(const std::string& text) {
    const std::lock_guard lock(lines_mutex_);
    return std::ranges::any_of(
        lines_, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
};

TEST_F(ScannersNumbers, StayTheSameOverARestart) {
  source_.has(counted({0, 1, 2, 3}));
  ASSERT_TRUE(a_scanner()->begin(options_));
  source_.has(counted({0, 2, 3}));
  ASSERT_TRUE(a_scanner()->begin(options_));
  EXPECT_THAT(numbered(), ElementsAre("0=GPU-0", "2=GPU-2", "3=GPU-3"));
}

// As after an update from a version that did not keep numbers.
TEST_F(ScannersNumbers, AreTakenFromRememberedFaultsWhereThereIsNoFile) {
  source_.has(counted({0, 1, 2, 3}));
  {
    const auto scanner = a_scanner();
    ASSERT_TRUE(scanner->begin(options_));
    source_.has(counted({0, 2, 3}));
    ASSERT_TRUE(scanner->scan_once());
  }
  ASSERT_TRUE(std::filesystem::remove(dir_.path("gpu-numbers.json")));
  ASSERT_TRUE(a_scanner()->begin(options_));
  EXPECT_THAT(numbered(), ElementsAre("0=GPU-0", "1=GPU-1", "2=GPU-2", "3=GPU-3"));
}

TEST_F(ScannersNumbers, StartFromTheDriversWhereTheFileCannotBeRead) {
  std::ofstream(dir_.path("gpu-numbers.json")) << "{";
  source_.has(counted({2, 3}));
  ASSERT_TRUE(a_scanner()->begin(options_));
  EXPECT_THAT(numbered(), ElementsAre("0=GPU-2", "1=GPU-3"));
  EXPECT_TRUE(has_said("cannot read the gpu numbers"));
  EXPECT_TRUE(std::filesystem::exists(dir_.path("gpu-numbers.json.unreadable")));
}

TEST_F(ScannersNumbers, AreWarnedOfWhenAnotherGpuIsInTheSlot) {
  source_.has(counted({0, 1}));
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  std::vector<GpuReading> swapped = counted({0, 1});
  swapped[1].gpu->uuid = GpuUuid("GPU-new");
  source_.has(std::move(swapped));
  ASSERT_TRUE(scanner->scan_once());
  EXPECT_TRUE(has_said("another gpu is in the slot; it takes the slot's number"));
  EXPECT_EQ(shown_.get().value->numbers.at(1).uuid, GpuUuid("GPU-new"));
}

TEST_F(ScannersNumbers, AreForgottenOnRequestAndBoundByTheNextLook) {
  source_.has(counted({0, 1, 2}));
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  source_.has(counted({0, 2}));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  until_unhealthy({"GPU-1"});
  EXPECT_THAT(numbered(), ElementsAre("0=GPU-0", "1=GPU-1", "2=GPU-2"));
  scanner->forget_numbers({1, 2});
  until([&](const Inventory& inventory) {
    return inventory.gpus.size() == 3 && inventory.gpus[1].uuid == GpuUuid("GPU-2");
  });
}

}  // namespace
}  // namespace tranche
