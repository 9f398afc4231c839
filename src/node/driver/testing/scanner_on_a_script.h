// SPDX-License-Identifier: Apache-2.0
//
// A scanner on a scripted driver: the test sets its GPUs and events.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/gpu/testing/literals.h"
#include "node/driver/scanner.h"
#include "os/latest.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {

inline constexpr std::chrono::milliseconds kLong{30'000};

// A driver whose GPUs and events a test sets.
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
  Result<DriverReading> read(const ReadRequest&) override {
    const std::lock_guard lock(mutex_);
    if (!trouble_.empty()) return Error{ErrorCode::kUnavailable, trouble_};
    return DriverReading{
        .kind = DriverKind::kNvml, .driver_version = "580", .session = opens_, .gpus = gpus_};
  }
  Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) override {
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
  std::string still_open() const override {
    const std::lock_guard lock(mutex_);
    return held_by_;
  }
  void holds_on(std::string call) {
    const std::lock_guard lock(mutex_);
    held_by_ = std::move(call);
  }
  unsigned opens() {
    const std::lock_guard lock(mutex_);
    return opens_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable raised_;
  std::string held_by_;
  std::vector<GpuReading> gpus_;
  std::vector<DriverEvent> events_;
  std::string trouble_;
  bool open_ = false;
  unsigned opens_ = 0;
};

inline std::vector<std::string> unhealthy(const Inventory& inventory) {
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
    options_.interval = std::chrono::milliseconds(5);
  }

  std::unique_ptr<Scanner> a_scanner() {
    return std::make_unique<Scanner>(source_, KernelFiles(dir_.path()), dir_.path("faults.json"),
                                     log_, [this](const Inventory& i) { shown_.publish(i); });
  }

  // Runs the scanner until its inventory meets the condition.
  template <typename Condition>
  void until(Condition condition) {
    std::uint64_t seen = 0;
    while (true) {
      const auto latest = shown_.wait_newer(seen, std::chrono::seconds(30));
      if (condition(*latest.value)) return;
      ASSERT_NE(latest.version, seen) << "no news for too long";
      seen = latest.version;
    }
  }
  void until_unhealthy(const std::vector<std::string>& uuids) {
    until([&](const Inventory& inventory) { return unhealthy(inventory) == uuids; });
  }
  // The scanner publishes its inventory first and answers waits after that.
  static void until_kept_open(Scanner& scanner, std::uint64_t request, std::string_view by) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (scanner.wait_for(request, std::chrono::milliseconds(1)) != by) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "not kept open by " << by;
    }
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

}  // namespace tranche::node
