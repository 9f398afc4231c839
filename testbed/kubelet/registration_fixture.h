// SPDX-License-Identifier: Apache-2.0
//
// For tests of plugins: a kubelet that can be started, and plugins that register.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "os/testing/temp_dir.h"
#include "testbed/kubelet/kubelet.h"
#include "testbed/kubelet/scripted_plugin.h"

namespace tranche::testbed::standin {

inline constexpr const char* kGpu = "nvidia.com/gpu";
inline constexpr std::chrono::seconds kPatience{20};

class Standin : public testing::Test {
 protected:
  Standin() { options_.directory = dir_.path("device-plugins"); }

  void start() {
    kubelet_ = std::make_unique<Kubelet>(options_);
    const Status started = kubelet_->start();
    ASSERT_TRUE(started) << started.error().message;
  }

  // A plugin whose devices the node has.
  std::unique_ptr<ScriptedPlugin> registered(const std::string& endpoint, int devices) {
    auto plugin = std::make_unique<ScriptedPlugin>(options_.directory, endpoint);
    plugin->publish(healthy_devices(devices));
    EXPECT_TRUE(plugin->register_as(kGpu).ok());
    EXPECT_TRUE(wait_for_devices(devices));
    return plugin;
  }

  bool wait_for_devices(std::int64_t count) {
    return kubelet_->wait_for_allocatable(kGpu, count, kPatience);
  }
  bool wait_for_event(EventKind kind, std::size_t count = 1) {
    return kubelet_->transcript().wait_for(kind, count, kPatience);
  }

  const TempDir dir_;
  KubeletOptions options_;
  std::unique_ptr<Kubelet> kubelet_;
};

}  // namespace tranche::testbed::standin
