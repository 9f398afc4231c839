// SPDX-License-Identifier: Apache-2.0
//
// Compute instances: what a GPU instance can be cut into, and what it is.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "testbed/driver/instances.h"
#include "testbed/driver/more_abi.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

namespace {

// For compute instances the id is the argument, so one search serves both.
abi::Return find_compute_profile(const InstanceTarget& target, unsigned id,
                                 ComputeInstanceProfile& profile) {
  if (id >= abi::kComputeInstanceProfiles) return abi::kInvalidArgument;
  const auto offered = compute_profiles(target.profile);
  const auto found = std::ranges::find(offered, id, &ComputeInstanceProfile::id);
  if (found == offered.end()) return abi::kNotSupported;
  profile = *found;
  return abi::kSuccess;
}

// Engines are shared by the compute instances of one GPU instance.
layout::ComputeInstanceProfileInfoV3 versioned_info(const InstanceTarget& target,
                                                    const ComputeInstanceProfile& profile) {
  layout::ComputeInstanceProfileInfoV3 info{.id = profile.id,
                                            .slices = profile.slices,
                                            .instances = profile.instances,
                                            .multiprocessors = profile.multiprocessors,
                                            .copy_engines = target.profile.copy_engines,
                                            .decoders = target.profile.decoders,
                                            .encoders = target.profile.encoders,
                                            .jpegs = target.profile.jpegs,
                                            .ofas = target.profile.ofas};
  (void)copy_text("MIG " + compute_profile_name(target.profile, profile.slices), info.name,
                  sizeof(info.name));
  return info;
}

bool is_free(const GpuInstance& instance, unsigned start, unsigned size) {
  return std::ranges::none_of(instance.compute, [&](const ComputeInstance& other) {
    return start < other.placement.start + other.placement.size &&
           other.placement.start < start + size;
  });
}

}  // namespace

extern "C" {

abi::Return nvmlGpuInstanceGetComputeInstanceProfileInfo(abi::GpuInstance instance,
                                                         unsigned argument, unsigned engines,
                                                         abi::ComputeInstanceProfileInfo* info) {
  return on_gpu_instance(__func__, instance, [&](InstanceTarget& target) -> abi::Return {
    if (info == nullptr || engines != 0) return abi::kInvalidArgument;
    ComputeInstanceProfile profile;
    const abi::Return found = find_compute_profile(target, argument, profile);
    if (found != abi::kSuccess) return found;
    *info = {.id = profile.id,
             .slices = profile.slices,
             .instances = profile.instances,
             .multiprocessors = profile.multiprocessors,
             .copy_engines = target.profile.copy_engines,
             .decoders = target.profile.decoders,
             .encoders = target.profile.encoders,
             .jpegs = target.profile.jpegs,
             .ofas = target.profile.ofas};
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetComputeInstanceProfileInfoV(abi::GpuInstance instance,
                                                          unsigned argument, unsigned engines,
                                                          void* info) {
  return on_gpu_instance(__func__, instance, [&](InstanceTarget& target) -> abi::Return {
    if (info == nullptr || engines != 0) return abi::kInvalidArgument;
    const unsigned version = *static_cast<const unsigned*>(info);
    const bool second = version == layout::kComputeInstanceProfileInfoV2;
    if (!second && version != layout::kComputeInstanceProfileInfoV3) {
      return abi::kArgumentVersionMismatch;
    }
    ComputeInstanceProfile profile;
    const abi::Return found = find_compute_profile(target, argument, profile);
    if (found != abi::kSuccess) return found;
    layout::ComputeInstanceProfileInfoV3 made = versioned_info(target, profile);
    made.version = version;
    std::memcpy(
        info, &made,
        second ? offsetof(layout::ComputeInstanceProfileInfoV3, capabilities) : sizeof(made));
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetComputeInstancePossiblePlacements(abi::GpuInstance instance,
                                                                unsigned profile_id,
                                                                abi::Placement* placements,
                                                                unsigned* count) {
  return on_gpu_instance(__func__, instance, [&](InstanceTarget& target) -> abi::Return {
    ComputeInstanceProfile profile;
    const abi::Return found = find_compute_profile(target, profile_id, profile);
    if (found != abi::kSuccess) return found;
    std::vector<abi::Placement> all;
    all.reserve(profile.starts.size());
    for (const unsigned start : profile.starts) all.push_back({start, profile.slices});
    if (placements == nullptr) return answer(count, all.size());
    return copy_array<abi::Placement>(all, count, placements);
  });
}

abi::Return nvmlGpuInstanceGetComputeInstanceRemainingCapacity(abi::GpuInstance instance,
                                                               unsigned profile_id,
                                                               unsigned* count) {
  return on_gpu_instance(__func__, instance, [&](InstanceTarget& target) -> abi::Return {
    ComputeInstanceProfile profile;
    const abi::Return found = find_compute_profile(target, profile_id, profile);
    if (found != abi::kSuccess) return found;
    return answer(count, std::ranges::count_if(profile.starts, [&](unsigned start) {
                    return is_free(target.instance, start, profile.slices);
                  }));
  });
}

// The array must have room for all that the profile allows; nothing is checked.
abi::Return nvmlGpuInstanceGetComputeInstances(abi::GpuInstance instance, unsigned profile_id,
                                               abi::ComputeInstance* instances, unsigned* count) {
  return on_gpu_instance(__func__, instance, [&](InstanceTarget& target) -> abi::Return {
    if (instances == nullptr || count == nullptr) return abi::kInvalidArgument;
    *count = 0;
    for (const ComputeInstance& compute : target.instance.compute) {
      if (compute.profile != profile_id) continue;
      instances[(*count)++] = handle_of(target.call, target.gpu, target.instance, compute);
    }
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetComputeInstanceById(abi::GpuInstance instance, unsigned id,
                                                  abi::ComputeInstance* compute) {
  return on_gpu_instance(__func__, instance, [&](InstanceTarget& target) -> abi::Return {
    if (compute == nullptr) return abi::kInvalidArgument;
    const auto& all = target.instance.compute;
    const auto found = std::ranges::find(all, id, &ComputeInstance::id);
    if (found == all.end()) return abi::kNotFound;
    *compute = handle_of(target.call, target.gpu, target.instance, *found);
    return abi::kSuccess;
  });
}

// The first form ends before the placement.
abi::Return nvmlComputeInstanceGetInfo(abi::ComputeInstance compute, void* info) {
  return on_compute_instance(
      __func__, compute, [&](InstanceTarget& target, const ComputeInstance& each) -> abi::Return {
        if (info == nullptr) return abi::kInvalidArgument;
        const abi::ComputeInstanceInfo made{
            .device = handle_of(target.call, target.gpu),
            .gpu_instance = handle_of(target.call, target.gpu, target.instance),
            .id = each.id,
            .profile_id = each.profile};
        std::memcpy(info, &made, offsetof(abi::ComputeInstanceInfo, placement));
        return abi::kSuccess;
      });
}

abi::Return nvmlComputeInstanceGetInfo_v2(abi::ComputeInstance compute,
                                          abi::ComputeInstanceInfo* info) {
  return on_compute_instance(
      __func__, compute, [&](InstanceTarget& target, const ComputeInstance& each) -> abi::Return {
        if (info == nullptr) return abi::kInvalidArgument;
        *info = {.device = handle_of(target.call, target.gpu),
                 .gpu_instance = handle_of(target.call, target.gpu, target.instance),
                 .id = each.id,
                 .profile_id = each.profile,
                 .placement = {each.placement.start, each.placement.size}};
        return abi::kSuccess;
      });
}

}  // extern "C"
