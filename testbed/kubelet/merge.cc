// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/merge.h"

#include <set>
#include <string>

namespace tranche::testbed::standin {
namespace {

// What of all responses has already been taken.
struct Taken {
  std::set<std::string> mounts;
  std::set<std::string> devices;
  std::set<std::string> cdi_devices;
};

void add_response(const ContainerResponse& response, ContainerResponse& merged, Taken& taken) {
  merged.envs.insert(response.envs.begin(), response.envs.end());
  merged.annotations.insert(response.annotations.begin(), response.annotations.end());
  for (const DeviceNode& device : response.devices) {
    if (taken.devices.insert(device.container_path).second) merged.devices.push_back(device);
  }
  for (const Mount& mount : response.mounts) {
    if (taken.mounts.insert(mount.container_path).second) merged.mounts.push_back(mount);
  }
  for (const std::string& name : response.cdi_devices) {
    if (taken.cdi_devices.insert(name).second) merged.cdi_devices.push_back(name);
  }
}

}  // namespace

ContainerResponse merge_responses(const std::vector<ContainerResponse>& responses) {
  ContainerResponse merged;
  Taken taken;
  for (const ContainerResponse& response : responses) add_response(response, merged, taken);
  return merged;
}

}  // namespace tranche::testbed::standin
