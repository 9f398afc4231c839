// SPDX-License-Identifier: Apache-2.0
//
// MIG devices: the mode, the devices of a GPU, and what each is.
#include <algorithm>

#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

namespace {

const ComputeInstanceProfile* find_compute_profile(
    const std::vector<ComputeInstanceProfile>& profiles, unsigned id) {
  const auto found = std::ranges::find(profiles, id, &ComputeInstanceProfile::id);
  return found == profiles.end() ? nullptr : &*found;
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetMigMode(abi::Device device, unsigned* current, unsigned* pending) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    if (current == nullptr || pending == nullptr) return abi::kInvalidArgument;
    if (target.gpu.model.mig.empty()) return abi::kNotSupported;
    *current = target.gpu.mig.enabled ? 1 : 0;
    *pending = target.gpu.mig.pending ? 1 : 0;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetMaxMigDeviceCount(abi::Device device, unsigned* count) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) {
    return answer(count, target.gpu.mig.enabled ? target.gpu.model.mig.slices : 0);
  });
}

abi::Return nvmlDeviceGetMigDeviceHandleByIndex(abi::Device device, unsigned index,
                                                abi::Device* mig_device) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (mig_device == nullptr) return abi::kInvalidArgument;
    if (target.gpu.model.mig.empty()) return abi::kNotSupported;
    if (index >= target.gpu.model.mig.slices) return abi::kInvalidArgument;
    for (const auto& [instance, compute] : list_mig_devices(target.gpu)) {
      if (compute->index != index) continue;
      *mig_device = handle_of(target.call, target.gpu, *compute);
      return abi::kSuccess;
    }
    return abi::kNotFound;
  });
}

abi::Return nvmlDeviceIsMigDeviceHandle(abi::Device device, unsigned* is_mig) {
  return on_device(__func__, device, Need::kIdentity,
                   [&](Target& target) { return answer(is_mig, target.is_mig() ? 1 : 0); });
}

abi::Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(abi::Device mig_device,
                                                         abi::Device* device) {
  return on_mig_device(__func__, mig_device, [&](Target& target) -> abi::Return {
    if (device == nullptr) return abi::kInvalidArgument;
    *device = handle_of(target.call, target.gpu);
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetGpuInstanceId(abi::Device mig_device, unsigned* id) {
  return on_mig_device(__func__, mig_device,
                       [&](Target& target) { return answer(id, target.gpu_instance->id); });
}

abi::Return nvmlDeviceGetComputeInstanceId(abi::Device mig_device, unsigned* id) {
  return on_mig_device(__func__, mig_device,
                       [&](Target& target) { return answer(id, target.compute_instance->id); });
}

}  // extern "C"

namespace {

abi::Return attributes(std::string_view function, abi::Device device,
                       abi::DeviceAttributes* attributes) {
  return on_device(function, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (!target.is_mig()) return abi::kNotSupported;
    if (attributes == nullptr) return abi::kInvalidArgument;
    const auto* profile = find_profile(target.gpu.model.mig, target.gpu_instance->profile);
    const auto offered = compute_profiles(*profile);
    const auto* compute = find_compute_profile(offered, target.compute_instance->profile);
    *attributes = {.multiprocessors = compute->multiprocessors,
                   .copy_engines = profile->copy_engines,
                   .decoders = profile->decoders,
                   .encoders = profile->encoders,
                   .jpegs = profile->jpegs,
                   .ofas = profile->ofas,
                   .gpu_instance_slices = profile->slices,
                   .compute_instance_slices = compute->slices,
                   .memory_mib = profile->memory_mib};
    return abi::kSuccess;
  });
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetAttributes(abi::Device device, abi::DeviceAttributes* out) {
  return attributes(__func__, device, out);
}
abi::Return nvmlDeviceGetAttributes_v2(abi::Device device, abi::DeviceAttributes* out) {
  return attributes(__func__, device, out);
}

}  // extern "C"
