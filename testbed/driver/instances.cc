// SPDX-License-Identifier: Apache-2.0
#include "testbed/driver/instances.h"

#include <algorithm>

namespace tranche::testbed::sim {
namespace {

abi::Return with_instance(Call& call, const GpuUuid& uuid, unsigned id,
                          const std::function<abi::Return(InstanceTarget&)>& body) {
  const Gpu* gpu = nullptr;
  if (const abi::Return reached = reach(call, uuid, gpu); reached != abi::kSuccess) return reached;
  const auto found = std::ranges::find(gpu->mig.instances, id, &GpuInstance::id);
  if (found == gpu->mig.instances.end()) return abi::kInvalidArgument;
  InstanceTarget target{call, *gpu, *found, *find_profile(gpu->model.mig, found->profile)};
  return body(target);
}

}  // namespace

abi::Return on_gpu_instance(std::string_view function, abi::GpuInstance handle,
                            const std::function<abi::Return(InstanceTarget&)>& body) noexcept {
  return call(function, [&](Call& call) -> abi::Return {
    const GpuInstanceName* name = call.session.gpu_instances.find(handle);
    if (name == nullptr) return abi::kInvalidArgument;
    return with_instance(call, name->gpu, name->id, body);
  });
}

abi::Return on_compute_instance(
    std::string_view function, abi::ComputeInstance handle,
    const std::function<abi::Return(InstanceTarget&, const ComputeInstance&)>& body) noexcept {
  return call(function, [&](Call& call) -> abi::Return {
    const ComputeInstanceName* name = call.session.compute_instances.find(handle);
    if (name == nullptr) return abi::kInvalidArgument;
    return with_instance(call, name->gpu, name->gpu_instance, [&](InstanceTarget& target) {
      const auto& all = target.instance.compute;
      const auto found = std::ranges::find(all, name->id, &ComputeInstance::id);
      return found == all.end() ? abi::kInvalidArgument : body(target, *found);
    });
  });
}

abi::GpuInstance handle_of(Call& call, const Gpu& gpu, const GpuInstance& instance) {
  const auto* name = call.session.gpu_instances.give({gpu.uuid, instance.id});
  return reinterpret_cast<abi::GpuInstance>(const_cast<GpuInstanceName*>(name));
}

abi::ComputeInstance handle_of(Call& call, const Gpu& gpu, const GpuInstance& instance,
                               const ComputeInstance& compute) {
  const auto* name = call.session.compute_instances.give({gpu.uuid, instance.id, compute.id});
  return reinterpret_cast<abi::ComputeInstance>(const_cast<ComputeInstanceName*>(name));
}

}  // namespace tranche::testbed::sim
