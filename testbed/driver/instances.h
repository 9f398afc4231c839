// SPDX-License-Identifier: Apache-2.0
//
// What call.h is for devices, for the handles of GPU and compute instances.
#pragma once

#include <functional>
#include <string_view>

#include "testbed/driver/call.h"

namespace tranche::testbed::sim {

struct InstanceTarget {
  Call& call;
  const Gpu& gpu;
  const GpuInstance& instance;
  const GpuInstanceProfile& profile;
};

// A handle whose instance was destroyed is an invalid argument.
abi::Return on_gpu_instance(std::string_view function, abi::GpuInstance handle,
                            const std::function<abi::Return(InstanceTarget&)>& body) noexcept;
abi::Return on_compute_instance(
    std::string_view function, abi::ComputeInstance handle,
    const std::function<abi::Return(InstanceTarget&, const ComputeInstance&)>& body) noexcept;

abi::GpuInstance handle_of(Call& call, const Gpu& gpu, const GpuInstance& instance);
abi::ComputeInstance handle_of(Call& call, const Gpu& gpu, const GpuInstance& instance,
                               const ComputeInstance& compute);

}  // namespace tranche::testbed::sim
