// SPDX-License-Identifier: Apache-2.0
#include "nvml/read_mig.h"

#include <algorithm>
#include <array>
#include <optional>

namespace tranche::nvml {
namespace {

class MigReader {
 public:
  MigReader(const Session& session, const HostFiles& host, abi::Device handle, const Gpu& gpu)
      : api_(session.api()), host_(host), handle_(handle), gpu_(gpu) {}

  MigReading read() && {
    if (api_.mig_mode == nullptr) return {};
    unsigned current = 0;
    unsigned pending = 0;
    const abi::Return mode = api_.mig_mode(handle_, &current, &pending);
    if (mode == abi::kNotSupported) return {};
    if (!went_well("nvmlDeviceGetMigMode", mode)) return reading_;
    reading_.enabled = current == 1;
    unsigned most = 0;
    if (!reading_.enabled ||
        !went_well("nvmlDeviceGetMaxMigDeviceCount", api_.max_mig_devices(handle_, &most))) {
      return reading_;
    }
    for (unsigned index = 0; index < most && reading_.code == abi::kSuccess; ++index) {
      read_slice(index);
    }
    return std::move(reading_);
  }

 private:
  bool went_well(const char* function, abi::Return code) {
    if (code == abi::kSuccess) return true;
    reading_.function = function;
    reading_.code = code;
    return false;
  }

  void read_slice(unsigned index) {
    abi::Device slice = nullptr;
    const abi::Return found = api_.mig_device_by_index(handle_, index, &slice);
    // Indexes have holes.
    if (found == abi::kNotFound || found == abi::kInvalidArgument) return;
    std::array<char, abi::kUuidSize> uuid{};
    if (!went_well("nvmlDeviceGetMigDeviceHandleByIndex", found) ||
        !went_well("nvmlDeviceGetUUID",
                   api_.uuid(slice, uuid.data(), static_cast<unsigned>(uuid.size())))) {
      return;
    }
    MigDevice mig{.uuid = MigUuid(uuid.data()), .index = index};
    // Ids and handles are used again for other instances; a uuid is not.
    const auto known = std::ranges::find(gpu_.mig, mig.uuid, &MigDevice::uuid);
    if (known != gpu_.mig.end()) {
      mig = *known;
      mig.index = index;
      mig.health = {};
    } else if (!read_new_slice(slice, mig)) {
      return;
    }
    reading_.devices.push_back(std::move(mig));
  }

  bool read_new_slice(abi::Device slice, MigDevice& mig) {
    abi::DeviceAttributes attributes{};
    if (!went_well("nvmlDeviceGetGpuInstanceId", api_.gpu_instance_id(slice, &mig.gpu_instance)) ||
        !went_well("nvmlDeviceGetComputeInstanceId",
                   api_.compute_instance_id(slice, &mig.compute_instance)) ||
        !went_well("nvmlDeviceGetAttributes", api_.attributes(slice, &attributes))) {
      return false;
    }
    mig.memory_bytes = attributes.memory_mib << 20;
    mig.profile = {attributes.compute_instance_slices, attributes.gpu_instance_slices,
                   mig_memory_gb(attributes.memory_mib, gpu_.memory_bytes),
                   attribute_of(mig.gpu_instance)};
    if (gpu_.minor) {
      if (!minors_) minors_ = host_.mig_minors();
      mig.gpu_instance_cap = minors_->gpu_instance(*gpu_.minor, mig.gpu_instance);
      mig.compute_instance_cap =
          minors_->compute_instance(*gpu_.minor, mig.gpu_instance, mig.compute_instance);
    }
    return true;
  }

  // The driver tells an instance's profile by an id, and the ids only by
  // asking for each kind of profile in turn.
  std::string attribute_of(unsigned gpu_instance) {
    if (api_.gpu_instance_by_id == nullptr || api_.gpu_instance_info == nullptr ||
        api_.gpu_instance_profile == nullptr) {
      return {};
    }
    abi::GpuInstance instance = nullptr;
    abi::GpuInstanceInfo info{};
    if (api_.gpu_instance_by_id(handle_, gpu_instance, &instance) != abi::kSuccess ||
        api_.gpu_instance_info(instance, &info) != abi::kSuccess) {
      return {};
    }
    for (unsigned profile = 0; profile < abi::kGpuInstanceProfiles; ++profile) {
      abi::GpuInstanceProfileInfo kind{};
      if (api_.gpu_instance_profile(handle_, profile, &kind) == abi::kSuccess &&
          kind.id == info.profile_id) {
        return mig_attribute(profile);
      }
    }
    return {};
  }

  const Functions& api_;
  const HostFiles& host_;
  const abi::Device handle_;
  const Gpu& gpu_;
  std::optional<MigMinors> minors_;
  MigReading reading_;
};

}  // namespace

const char* mig_attribute(unsigned profile) {
  switch (profile) {
    case 7:
    case 8: return "+me";
    case 10:
    case 11:
    case 12:
    case 17: return "+gfx";
    case 13:
    case 14: return "-me";
    case 15:
    case 16: return "+me.all";
    default: return "";
  }
}

MigReading read_mig(const Session& session, const HostFiles& host, abi::Device handle,
                    const Gpu& gpu) {
  return MigReader(session, host, handle, gpu).read();
}

}  // namespace tranche::nvml
