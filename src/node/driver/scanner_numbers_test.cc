// SPDX-License-Identifier: Apache-2.0
//
// The numbers of GPUs, over restarts and swaps.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "node/driver/testing/scanner_on_a_script.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;

// The GPUs of these slots, with the driver's indexes.
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
      gpus.push_back(fmt::format("{}={}", gpu.index, gpu.uuid.text));
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

// For example after an update from a version that did not keep numbers.
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

TEST_F(ScannersNumbers, AreForgottenOnRequestAndBoundByTheNextScan) {
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
}  // namespace tranche::node
