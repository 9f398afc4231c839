// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/compute_modes.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <utility>

namespace tranche::node::nvml {
namespace {

constexpr int kDone = 0;

ComputeMode mode_of(int number) {
  switch (number) {
    case abi::kComputeDefault: return ComputeMode::kDefault;
    case abi::kComputeExclusiveProcess: return ComputeMode::kExclusiveProcess;
    case abi::kComputeProhibited: return ComputeMode::kProhibited;
    default: return ComputeMode::kOther;
  }
}

std::optional<int> number_of(ComputeMode mode) {
  switch (mode) {
    case ComputeMode::kDefault: return abi::kComputeDefault;
    case ComputeMode::kExclusiveProcess: return abi::kComputeExclusiveProcess;
    case ComputeMode::kProhibited: return abi::kComputeProhibited;
    case ComputeMode::kOther: break;
  }
  return std::nullopt;
}

Error lacking(const char* function) {
  return {ErrorCode::kUnavailable, "the driver's library has no " + std::string(function)};
}

Error failed(const Session& session, const char* function, abi::Return code) {
  Error error{code == abi::kNotFound ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
              session.library().describe(function, code)};
  if (code == abi::kNoPermission) error.message += ": the agent must be root on the node";
  return error;
}

Result<abi::Device> find(const Session& session, const GpuUuid& gpu) {
  const Functions& api = session.api();
  if (api.device_by_uuid == nullptr) return lacking("nvmlDeviceGetHandleByUUID");
  abi::Device device = nullptr;
  const abi::Return code = api.device_by_uuid(gpu.text.c_str(), &device);
  if (code != abi::kSuccess) return failed(session, "nvmlDeviceGetHandleByUUID", code);
  return device;
}

}  // namespace

ComputeModes::ComputeModes(DriverOptions options) : options_(std::move(options)) {}

Result<ComputeMode> ComputeModes::read(const GpuUuid& gpu) {
  const Result<int> mode = on(gpu, [](const Session& session, abi::Device device) -> Result<int> {
    if (session.api().compute_mode == nullptr) return lacking("nvmlDeviceGetComputeMode");
    int number = 0;
    const abi::Return code = session.api().compute_mode(device, &number);
    if (code != abi::kSuccess) return failed(session, "nvmlDeviceGetComputeMode", code);
    return number;
  });
  if (!mode) return mode.error().in("reading the compute mode of " + gpu.text);
  return mode_of(*mode);
}

Status ComputeModes::set(const GpuUuid& gpu, ComputeMode mode) {
  const std::optional<int> number = number_of(mode);
  if (!number) return Error{ErrorCode::kInvalidArgument, "no such compute mode"};
  const Result<int> set =
      on(gpu, [number = *number](const Session& session, abi::Device device) -> Result<int> {
        if (session.api().set_compute_mode == nullptr) return lacking("nvmlDeviceSetComputeMode");
        const abi::Return code = session.api().set_compute_mode(device, number);
        if (code != abi::kSuccess) return failed(session, "nvmlDeviceSetComputeMode", code);
        return kDone;
      });
  if (!set) {
    return set.error().in(
        fmt::format("setting the compute mode of {} to {}", gpu.text, to_string(mode)));
  }
  return Done{};
}

Result<int> ComputeModes::on(const GpuUuid& gpu, Work work) {
  if (stuck_.is_stuck()) {
    return Error{ErrorCode::kUnavailable, "an earlier driver call does not return"};
  }
  const std::string found = find_below(options_.container_root);
  auto outcome = caller_.call<Result<int>>(
      [path = found.empty() ? kSoname : found, gpu, work = std::move(work)]() -> Result<int> {
        Result<std::shared_ptr<const Library>> library = Library::open(path);
        if (!library) return library.error();
        const auto session = Session::open(*std::move(library));
        if (!session) return session.error();
        const Result<abi::Device> device = find(**session, gpu);
        if (!device) return device.error();
        return work(**session, *device);
      },
      options_.call_patience* kPatienceToOpen);
  if (!outcome.value) {
    stuck_ = outcome.stuck;
    return Error{ErrorCode::kUnavailable, "the driver does not return"};
  }
  return *std::move(outcome.value);
}

}  // namespace tranche::node::nvml
