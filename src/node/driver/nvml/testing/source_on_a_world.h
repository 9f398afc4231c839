// SPDX-License-Identifier: Apache-2.0
//
// A test's NvmlSource on a simulated node, with the real loader and the simulated library.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "node/driver/nvml/nvml_source.h"
#include "os/testing/temp_dir.h"
#include "testbed/node/simulated_node.h"
#include "testbed/world/parse.h"
#include "testbed/worlds/builtin.h"

namespace tranche::node::nvml {

namespace sim = testbed::sim;

class NvmlSourceOnAWorld : public testing::Test {
 protected:
  void start(const char* world) {
    const auto parsed = sim::builtin_world(world);
    ASSERT_TRUE(parsed) << parsed.error().message;
    start(*parsed);
  }
  void start(const sim::World& world) {
    const auto made = sim::SimulatedNode::create(dir_.path("root"), world, {.plain_files = true});
    ASSERT_TRUE(made) << made.error().message;
    node_ = *made;
    source_.emplace(DriverOptions{.container_root = node_->root(), .call_patience = patience_},
                    KernelFiles(node_->root()), log_);
  }
  void open(const char* world) {
    start(world);
    const Status opened = source_->open();
    ASSERT_TRUE(opened) << opened.error().message;
  }
  void apply(const sim::Change& change) {
    const Status applied = node_->apply(change);
    ASSERT_TRUE(applied) << applied.error().message;
  }
  DriverReading read(const ReadRequest& request = {}) {
    const Result<DriverReading> reading = source_->read(request);
    EXPECT_TRUE(reading) << (reading ? "" : reading.error().message);
    return reading ? *reading : DriverReading{};
  }
  std::optional<DriverEvent> event() {
    const Result<std::vector<DriverEvent>> events = source_->wait(std::chrono::seconds(30));
    if (!events || events->empty()) return std::nullopt;
    return events->front();
  }

  TempDir dir_;
  std::chrono::milliseconds patience_ = std::chrono::seconds(30);
  std::optional<sim::SimulatedNode> node_;
  std::string logged_;
  Log log_{[this](std::string_view line) { logged_ += line; }};
  std::optional<NvmlSource> source_;
};

inline std::vector<std::string> failures(const DriverReading& reading) {
  std::vector<std::string> texts;
  for (const GpuReading& gpu : reading.gpus) {
    if (gpu.failure) texts.push_back(fmt::format("{} {}", gpu.index, gpu.failure->what));
  }
  return texts;
}

}  // namespace tranche::node::nvml
