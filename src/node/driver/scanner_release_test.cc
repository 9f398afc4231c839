// SPDX-License-Identifier: Apache-2.0
//
// Release and resume of the driver, and restarts in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "node/driver/testing/scanner_on_a_script.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ReleasedScanner : public ScannerOnAScript {
 protected:
  // Three GPUs; GPU 1 is released; the agent has ended.
  void release_one() {
    source_.has_gpus(3);
    const auto scanner = a_scanner();
    ASSERT_TRUE(scanner->begin(options_));
    std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
    EXPECT_EQ(scanner->wait_for(scanner->release({GpuUuid("GPU-1")}), kLong), "");
    EXPECT_EQ(scanner->release_not_kept(), "");
  }
};

TEST_F(ReleasedScanner, KeepsTheDriverClosedOverARestartUntilResume) {
  release_one();
  const unsigned opens = source_.opens();
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  EXPECT_EQ(source_.opens(), opens);
  EXPECT_TRUE(scanner->is_released());
  EXPECT_THAT(shown_.get().value->gpus, SizeIs(3));
  EXPECT_THAT(unhealthy(*shown_.get().value), ElementsAre("GPU-1"));
  EXPECT_TRUE(shown_.get().value->released_at.has_value());
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  EXPECT_EQ(scanner->wait_for(scanner->resume(), kLong), "");
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
  EXPECT_FALSE(shown_.get().value->released_at.has_value());
}

TEST_F(ReleasedScanner, IsNotClosedWhileSomethingElseOfTheAgentHasTheDriverOpen) {
  source_.has_gpus(3);
  const auto scanner = a_scanner();
  std::atomic<bool> is_open = true;
  scanner->set_other_users([&] { return is_open ? "a compute mode" : ""; });
  ASSERT_TRUE(scanner->begin(options_));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  const std::uint64_t request = scanner->release({});
  until([](const Inventory& inventory) { return inventory.still_open == "a compute mode"; });
  until_kept_open(*scanner, request, "a compute mode");
  is_open = false;
  EXPECT_EQ(scanner->wait_for(request, kLong), "");
  until([](const Inventory& inventory) { return inventory.still_open.empty(); });
}

TEST_F(ReleasedScanner, AResumeHoldsOverARestart) {
  release_one();
  {
    const auto scanner = a_scanner();
    ASSERT_TRUE(scanner->begin(options_));
    std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
    EXPECT_EQ(scanner->wait_for(scanner->resume(), kLong), "");
  }
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  EXPECT_FALSE(scanner->is_released());
  EXPECT_TRUE(source_.is_open());
}

TEST_F(ReleasedScanner, OpensTheDriverAfterAReboot) {
  release_one();
  std::ofstream(dir_.path("proc/sys/kernel/random/boot_id")) << "boot-2\n";
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  EXPECT_TRUE(source_.is_open());
  EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(dir_.path("released.json")));
}

// A GPU may be in a reset: opening the driver would attach to it.
TEST_F(ReleasedScanner, KeepsTheDriverClosedWhereItCannotReadWhetherItIsReleased) {
  for (const char* text : {"garbage", R"({"version": 99})"}) {
    std::filesystem::remove(dir_.path("released.json.unreadable"));
    std::ofstream(dir_.path("released.json")) << text;
    source_.has_gpus(3);
    const unsigned opens = source_.opens();
    for (int start = 0; start < 2; ++start) {
      const auto scanner = a_scanner();
      ASSERT_TRUE(scanner->begin(options_));
      EXPECT_EQ(source_.opens(), opens) << text;
      EXPECT_TRUE(scanner->is_released());
      EXPECT_TRUE(shown_.get().value->released_at.has_value());
      EXPECT_THAT(shown_.get().value->driver_trouble, HasSubstr("whether it is released"))
          << "else a list without GPUs would end the MPS daemons of the node";
      EXPECT_TRUE(std::filesystem::exists(dir_.path("released.json.unreadable")));
    }
    const auto scanner = a_scanner();
    ASSERT_TRUE(scanner->begin(options_));
    std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
    EXPECT_EQ(scanner->wait_for(scanner->resume(), kLong), "");
    EXPECT_THAT(shown_.get().value->gpus, SizeIs(3));
    EXPECT_THAT(unhealthy(*shown_.get().value), IsEmpty());
    EXPECT_EQ(shown_.get().value->driver_trouble, "");
    EXPECT_FALSE(std::filesystem::exists(dir_.path("released.json")));
  }
}

TEST_F(ReleasedScanner, OpensTheDriverWhereThereIsNoStateFolder) {
  std::ofstream(dir_.path("in-the-way")) << "";
  source_.has_gpus(1);
  Scanner scanner(source_, KernelFiles(dir_.path()), dir_.path("in-the-way/state/faults.json"),
                  log_, [](const Inventory&) {});
  ASSERT_TRUE(scanner.begin(options_));
  EXPECT_TRUE(source_.is_open());
  EXPECT_FALSE(scanner.is_released());
}

TEST_F(ReleasedScanner, SaysThatAReleaseCannotBeKept) {
  source_.has_gpus(1);
  const auto scanner = a_scanner();
  ASSERT_TRUE(scanner->begin(options_));
  std::filesystem::create_directories(dir_.path("released.json/in-the-way"));
  std::jthread thread([&](const std::stop_token& stop) { scanner->run(stop); });
  EXPECT_EQ(scanner->wait_for(scanner->release({}), kLong), "");
  EXPECT_THAT(scanner->release_not_kept(), HasSubstr("released.json"));
}

}  // namespace
}  // namespace tranche::node
