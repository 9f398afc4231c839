// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/read_mig.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "node/driver/nvml/failure.h"

namespace tranche::node::nvml {
namespace {

// The driver does not have the value, or does not show it to us.
bool is_unsupported(abi::Return code) {
  return code == abi::kNotSupported || code == abi::kFunctionNotFound ||
         code == abi::kNoPermission || code == abi::kInvalidArgument || code == abi::kNotFound;
}

class MigReader {
 public:
  MigReader(const Session& session, const KernelFiles& kernel, const MigQuestion& question)
      : library_(session.library()), api_(session.api()), kernel_(kernel), question_(question) {}

  MigReading read() && {
    reading_.enabled = false;
    if (api_.mig_mode == nullptr) return reading_;
    unsigned current = 0;
    unsigned pending = 0;
    const abi::Return mode = api_.mig_mode(question_.handle, &current, &pending);
    if (mode == abi::kNotSupported) return reading_;
    reading_.enabled.reset();
    if (!went_well("nvmlDeviceGetMigMode", mode)) return reading_;
    reading_.is_capable = true;
    reading_.enabled = current == 1;
    if (current == 1 && knows_memory_size()) read_slices();
    return std::move(reading_);
  }

 private:
  bool went_well(const char* function, abi::Return code) {
    if (code == abi::kSuccess) return true;
    reading_.failure = failure_of(library_, function, code);
    return false;
  }

  bool knows_memory_size() {
    if (!question_.no_memory_size) return true;
    reading_.failure = question_.no_memory_size;
    reading_.failure->what =
        "its memory size is unknown, and MIG devices are named by it: " + reading_.failure->what;
    return false;
  }

  void read_slices() {
    unsigned most = 0;
    const abi::Return counted = api_.max_mig_devices(question_.handle, &most);
    if (!went_well("nvmlDeviceGetMaxMigDeviceCount", counted)) return;
    for (unsigned index = 0; index < most && !reading_.failure; ++index) read_slice(index);
  }

  void read_slice(unsigned index) {
    abi::Device handle = nullptr;
    const abi::Return found = api_.mig_device_by_index(question_.handle, index, &handle);
    // Indexes have holes.
    if (found == abi::kNotFound || found == abi::kInvalidArgument) return;
    std::array<char, abi::kUuidSize> uuid{};
    Slice slice{.device = {.index = index}};
    MigDevice& mig = slice.device;
    if (!went_well("nvmlDeviceGetMigDeviceHandleByIndex", found) ||
        !went_well("nvmlDeviceGetUUID",
                   api_.uuid(handle, uuid.data(), static_cast<unsigned>(uuid.size()))) ||
        !went_well("nvmlDeviceGetGpuInstanceId", api_.gpu_instance_id(handle, &mig.gpu_instance)) ||
        !went_well("nvmlDeviceGetComputeInstanceId",
                   api_.compute_instance_id(handle, &mig.compute_instance)) ||
        !went_well("nvmlDeviceGetAttributes", api_.attributes(handle, &slice.attributes))) {
      return;
    }
    mig.uuid = MigUuid(uuid.data());
    if (!copy_known(slice) && !complete(slice)) return;
    reading_.slices.push_back(std::move(slice));
  }

  // The uuid alone is not enough: it is made from the ids, and another profile can have the same
  // ids.
  bool copy_known(Slice& slice) const {
    const auto known = std::ranges::find_if(question_.known, [&](const Slice& other) {
      return other.device.uuid == slice.device.uuid &&
             other.device.gpu_instance == slice.device.gpu_instance &&
             other.device.compute_instance == slice.device.compute_instance &&
             other.attributes == slice.attributes;
    });
    if (known == question_.known.end()) return false;
    const unsigned index = slice.device.index;
    slice = *known;
    slice.device.index = index;
    return true;
  }

  bool complete(Slice& slice) {
    const abi::DeviceAttributes& attributes = slice.attributes;
    MigDevice& mig = slice.device;
    mig.memory_bytes = attributes.memory_mib << 20;
    mig.units = MigUnits{.multiprocessors = attributes.multiprocessors,
                         .copy_engines = attributes.copy_engines,
                         .decoders = attributes.decoders,
                         .encoders = attributes.encoders,
                         .jpeg_engines = attributes.jpegs,
                         .ofa_engines = attributes.ofas};
    mig.profile = {.compute_slices = attributes.compute_instance_slices,
                   .gpu_slices = attributes.gpu_instance_slices,
                   .memory_gb = mig_memory_gb(attributes.memory_mib, question_.memory_bytes)};
    if (mig.profile.memory_gb == 0 || mig.memory_bytes > question_.memory_bytes) {
      reading_.failure = GpuFailure{
          .what = fmt::format("the driver's memory sizes do not fit together, and MIG devices are "
                              "named by them: {} has {} MiB, and its GPU {} MiB",
                              mig.uuid.text, attributes.memory_mib, question_.memory_bytes >> 20)};
      return false;
    }
    if (!read_attribute(mig.gpu_instance, mig.profile.attribute)) return false;
    if (!question_.minor) return true;
    if (!minors_) minors_ = kernel_.mig_minors();
    mig.gpu_instance_cap = minors_->gpu_instance(*question_.minor, mig.gpu_instance);
    mig.compute_instance_cap =
        minors_->compute_instance(*question_.minor, mig.gpu_instance, mig.compute_instance);
    return true;
  }

  // The driver gives the id of an instance's profile; the ids are found by querying each kind of
  // profile. False: a call failed, so the name is unknown.
  bool read_attribute(unsigned gpu_instance, std::string& attribute) {
    if (api_.gpu_instance_by_id == nullptr || api_.gpu_instance_info == nullptr ||
        api_.gpu_instance_profile == nullptr) {
      return true;
    }
    abi::GpuInstance instance = nullptr;
    abi::GpuInstanceInfo info{};
    const abi::Return found = api_.gpu_instance_by_id(question_.handle, gpu_instance, &instance);
    if (found != abi::kSuccess) {
      return is_unsupported(found) || went_well("nvmlDeviceGetGpuInstanceById", found);
    }
    const abi::Return answered = api_.gpu_instance_info(instance, &info);
    if (answered != abi::kSuccess) {
      return is_unsupported(answered) || went_well("nvmlGpuInstanceGetInfo", answered);
    }
    abi::Return failed = abi::kSuccess;
    for (unsigned profile = 0; profile < abi::kGpuInstanceProfiles; ++profile) {
      abi::GpuInstanceProfileInfo kind{};
      const abi::Return code = api_.gpu_instance_profile(question_.handle, profile, &kind);
      if (code == abi::kSuccess && kind.id == info.profile_id) {
        attribute = mig_attribute(profile);
        return true;
      }
      if (code != abi::kSuccess && !is_unsupported(code)) failed = code;
    }
    return went_well("nvmlDeviceGetGpuInstanceProfileInfo", failed);
  }

  const Library& library_;
  const Functions& api_;
  const KernelFiles& kernel_;
  const MigQuestion& question_;
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

MigReading read_mig(const Session& session, const KernelFiles& kernel,
                    const MigQuestion& question) {
  return MigReader(session, kernel, question).read();
}

}  // namespace tranche::node::nvml
