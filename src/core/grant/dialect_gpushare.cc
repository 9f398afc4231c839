// SPDX-License-Identifier: Apache-2.0
#include "core/grant/dialect.h"

namespace tranche::core {

Result<ContainerGrant> gpushare_grant(const GrantRequest& request) {
  Result<ContainerGrant> grant = nvidia_grant(request);
  if (!grant) return grant.error();
  // One device: a request with several has been refused.
  const HeldDevice& held = request.devices.front();
  const std::string units = std::to_string(held.shares);
  grant->env["ALIYUN_COM_GPU_MEM_IDX"] =
      std::to_string(held.device->driver_index.value_or(held.device->gpu_index));
  // The kubelet allocates for each container separately and does not name the pod, so the pod's
  // part is the container's, as in GPUShare.
  grant->env["ALIYUN_COM_GPU_MEM_POD"] = units;
  grant->env["ALIYUN_COM_GPU_MEM_CONTAINER"] = units;
  grant->env["ALIYUN_COM_GPU_MEM_DEV"] = std::to_string(held.device->shares());
  return grant;
}

}  // namespace tranche::core
