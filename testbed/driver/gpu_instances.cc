// SPDX-License-Identifier: Apache-2.0
//
// GPU instances: the profiles a GPU offers, where they fit, which exist.
#include <algorithm>
#include <string>
#include <vector>

#include "testbed/driver/instances.h"
#include "testbed/driver/more_abi.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

namespace {

// How many profile arguments a driver of this branch knows; beyond, a client
// that counts upwards learns to stop.
unsigned known_arguments(unsigned branch) {
  if (branch < 470) return 0x7;
  if (branch < 525) return 0x8;
  if (branch < 570) return 0xA;
  return branch < 595 ? 0x11 : 0x12;
}

// Before R550 a GPU tells of profiles only while the mode is on.
bool tells_profiles(const Target& target) {
  if (target.gpu.model.mig.empty()) return false;
  return target.gpu.mig.enabled || target.call.branch() >= 550;
}

abi::Return find_by_argument(const Target& target, unsigned argument,
                             const GpuInstanceProfile*& profile) {
  if (argument >= known_arguments(target.call.branch())) return abi::kInvalidArgument;
  if (!tells_profiles(target)) return abi::kNotSupported;
  const auto& profiles = target.gpu.model.mig.profiles;
  const auto found = std::ranges::find(profiles, argument, &GpuInstanceProfile::argument);
  if (found == profiles.end()) return abi::kNotSupported;
  profile = &*found;
  return abi::kSuccess;
}

// By the id that the profile has.
abi::Return find_by_id(const Target& target, unsigned id, const GpuInstanceProfile*& profile) {
  if (!tells_profiles(target)) return abi::kNotSupported;
  profile = find_profile(target.gpu.model.mig, id);
  return profile == nullptr ? abi::kInvalidArgument : abi::kSuccess;
}

// The version comes back as zero; a real driver does that here, and only here.
void fill(layout::GpuInstanceProfileInfoV2& info, const GpuInstanceProfile& profile) {
  info = {.id = profile.id,
          .slices = profile.slices,
          .instances = profile.instances,
          .multiprocessors = profile.multiprocessors,
          .copy_engines = profile.copy_engines,
          .decoders = profile.decoders,
          .encoders = profile.encoders,
          .jpegs = profile.jpegs,
          .ofas = profile.ofas,
          .memory_mib = profile.memory_mib};
  (void)copy_text("MIG " + profile.name, info.name, sizeof(info.name));
}

void fill(layout::GpuInstanceProfileInfoV3& info, const GpuInstanceProfile& profile) {
  info = {.version = layout::kGpuInstanceProfileInfoV3,
          .id = profile.id,
          .slices = profile.slices,
          .instances = profile.instances,
          .multiprocessors = profile.multiprocessors,
          .copy_engines = profile.copy_engines,
          .decoders = profile.decoders,
          .encoders = profile.encoders,
          .jpegs = profile.jpegs,
          .ofas = profile.ofas,
          .memory_mib = profile.memory_mib,
          .capabilities = profile.name.ends_with("+gfx") ? 2U : 0U};
  (void)copy_text("MIG " + profile.name, info.name, sizeof(info.name));
}

bool is_free(const Gpu& gpu, unsigned start, unsigned size) {
  return std::ranges::none_of(gpu.mig.instances, [&](const GpuInstance& other) {
    return start < other.placement.start + other.placement.size &&
           other.placement.start < start + size;
  });
}

// How many more of it could be made, one beside the other.
unsigned remaining(const Gpu& gpu, const GpuInstanceProfile& profile) {
  unsigned slices = 0;
  unsigned same = 0;
  for (const GpuInstance& instance : gpu.mig.instances) {
    slices += find_profile(gpu.model.mig, instance.profile)->slices;
    same += instance.profile == profile.name ? 1U : 0U;
  }
  const auto places = static_cast<unsigned>(std::ranges::count_if(
      profile.starts, [&](unsigned start) { return is_free(gpu, start, profile.size); }));
  const unsigned by_slices = (gpu.model.mig.slices - slices) / profile.slices;
  return std::min({places, by_slices, profile.instances - same});
}

abi::Return possible_placements(std::string_view function, abi::Device device, unsigned profile_id,
                                abi::Placement* placements, unsigned* count) {
  return on_gpu(function, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    const GpuInstanceProfile* profile = nullptr;
    const abi::Return found = find_by_id(target, profile_id, profile);
    if (found != abi::kSuccess) return found;
    if (count == nullptr) return abi::kInvalidArgument;
    std::vector<abi::Placement> all;
    for (const unsigned start : profile->starts) all.push_back({start, profile->size});
    if (placements == nullptr) return answer(count, all.size());
    return copy_array<abi::Placement>(all, count, placements);
  });
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetGpuInstanceProfileInfo(abi::Device device, unsigned argument,
                                                abi::GpuInstanceProfileInfo* info) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (info == nullptr) return abi::kInvalidArgument;
    const GpuInstanceProfile* profile = nullptr;
    const abi::Return found = find_by_argument(target, argument, profile);
    if (found != abi::kSuccess) return found;
    *info = {.id = profile->id,
             .slices = profile->slices,
             .instances = profile->instances,
             .multiprocessors = profile->multiprocessors,
             .copy_engines = profile->copy_engines,
             .decoders = profile->decoders,
             .encoders = profile->encoders,
             .jpegs = profile->jpegs,
             .ofas = profile->ofas,
             .memory_mib = profile->memory_mib};
    return abi::kSuccess;
  });
}

// Two layouts of one size: the version in the first word decides.
abi::Return nvmlDeviceGetGpuInstanceProfileInfoV(abi::Device device, unsigned argument,
                                                 void* info) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (info == nullptr) return abi::kInvalidArgument;
    const unsigned version = *static_cast<const unsigned*>(info);
    if (version != layout::kGpuInstanceProfileInfoV2 &&
        version != layout::kGpuInstanceProfileInfoV3) {
      return abi::kArgumentVersionMismatch;
    }
    const GpuInstanceProfile* profile = nullptr;
    const abi::Return found = find_by_argument(target, argument, profile);
    if (found != abi::kSuccess) return found;
    if (version == layout::kGpuInstanceProfileInfoV2) {
      fill(*static_cast<layout::GpuInstanceProfileInfoV2*>(info), *profile);
    } else {
      fill(*static_cast<layout::GpuInstanceProfileInfoV3*>(info), *profile);
    }
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetGpuInstancePossiblePlacements(abi::Device device, unsigned profile_id,
                                                       abi::Placement* placements,
                                                       unsigned* count) {
  return possible_placements(__func__, device, profile_id, placements, count);
}
abi::Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(abi::Device device, unsigned profile_id,
                                                          abi::Placement* placements,
                                                          unsigned* count) {
  return possible_placements(__func__, device, profile_id, placements, count);
}

abi::Return nvmlDeviceGetGpuInstanceRemainingCapacity(abi::Device device, unsigned profile_id,
                                                      unsigned* count) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    const GpuInstanceProfile* profile = nullptr;
    const abi::Return found = find_by_id(target, profile_id, profile);
    return found == abi::kSuccess ? answer(count, remaining(target.gpu, *profile)) : found;
  });
}

// The array must have room for all that the profile allows; nothing is checked.
abi::Return nvmlDeviceGetGpuInstances(abi::Device device, unsigned profile_id,
                                      abi::GpuInstance* instances, unsigned* count) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    const GpuInstanceProfile* profile = nullptr;
    const abi::Return found = find_by_id(target, profile_id, profile);
    if (found != abi::kSuccess) return found;
    if (instances == nullptr || count == nullptr) return abi::kInvalidArgument;
    *count = 0;
    for (const GpuInstance& instance : target.gpu.mig.instances) {
      if (instance.profile != profile->name) continue;
      instances[(*count)++] = handle_of(target.call, target.gpu, instance);
    }
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetGpuInstanceById(abi::Device device, unsigned id,
                                         abi::GpuInstance* instance) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (instance == nullptr) return abi::kInvalidArgument;
    if (target.gpu.model.mig.empty()) return abi::kNotSupported;
    const auto found = std::ranges::find(target.gpu.mig.instances, id, &GpuInstance::id);
    if (found == target.gpu.mig.instances.end()) return abi::kNotFound;
    *instance = handle_of(target.call, target.gpu, *found);
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetInfo(abi::GpuInstance instance, abi::GpuInstanceInfo* info) {
  return on_gpu_instance(__func__, instance, [&](InstanceTarget& target) -> abi::Return {
    if (info == nullptr) return abi::kInvalidArgument;
    const Placement& placement = target.instance.placement;
    *info = {.device = handle_of(target.call, target.gpu),
             .id = target.instance.id,
             .profile_id = target.profile.id,
             .placement = {placement.start, placement.size}};
    return abi::kSuccess;
  });
}

}  // extern "C"
