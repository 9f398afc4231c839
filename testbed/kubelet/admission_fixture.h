// SPDX-License-Identifier: Apache-2.0
//
// For tests of pods: a kubelet that runs, and plugins that it knows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/testing/temp_dir.h"
#include "testbed/kubelet/kubelet.h"
#include "testbed/kubelet/scripted_plugin.h"

namespace tranche::testbed::standin {

inline constexpr const char* kGpu = "nvidia.com/gpu";
inline constexpr const char* kNic = "example.com/nic";
inline constexpr std::chrono::seconds kPatience{20};

inline Pod pod_of(const std::string& name, const Limits& limits) {
  return {.uid = name + "-uid", .name = name, .containers = {{"main", limits}}};
}

// A plugin's answer with an environment that names the devices.
inline grpc::Status name_devices(const v1beta1::AllocateRequest& request,
                                 v1beta1::AllocateResponse& response) {
  std::vector<std::string> ids(request.container_requests(0).devices_ids().begin(),
                               request.container_requests(0).devices_ids().end());
  std::ranges::sort(ids);
  auto& envs = *response.add_container_responses()->mutable_envs();
  for (const std::string& id : ids) envs["DEVICES"] += id + ";";
  return grpc::Status::OK;
}

template <typename Repeated>
Ids set_of(const Repeated& ids) {
  return Ids(ids.begin(), ids.end());
}

class StandinAdmission : public testing::Test {
 protected:
  StandinAdmission() {
    options_.directory = dir_.path("device-plugins");
    kubelet_ = std::make_unique<Kubelet>(options_);
    EXPECT_TRUE(kubelet_->start());
  }

  std::unique_ptr<ScriptedPlugin> plugin_for(const std::string& resource,
                                             const std::vector<Device>& devices,
                                             ScriptedPlugin::Script script = {}) {
    const std::string endpoint = std::to_string(++plugins_) + ".sock";
    auto plugin = std::make_unique<ScriptedPlugin>(options_.directory, endpoint, std::move(script));
    plugin->publish(devices);
    EXPECT_TRUE(plugin->register_as(resource).ok());
    const auto healthy = std::ranges::count(devices, "Healthy", &Device::health);
    EXPECT_TRUE(kubelet_->wait_for_allocatable(resource, healthy, kPatience));
    return plugin;
  }

  static ScriptedPlugin::Script preferring(const IdList& ids) {
    return {.options = {.preferred_allocation_available = true},
            .on_preferred = [ids](const auto&, auto& response) {
              for (auto* container = response.add_container_responses(); const auto& id : ids) {
                container->add_deviceids(id);
              }
              return grpc::Status::OK;
            }};
  }

  const TempDir dir_;
  KubeletOptions options_;
  std::unique_ptr<Kubelet> kubelet_;
  int plugins_ = 0;
};

}  // namespace tranche::testbed::standin
