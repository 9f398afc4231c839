// SPDX-License-Identifier: Apache-2.0
//
// Who works on a device and how hard.
#include <algorithm>
#include <chrono>
#include <vector>

#include "testbed/driver/call.h"
#include "testbed/driver/more_abi.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

namespace {

// A GPU has all of its MIG devices' processes, a MIG device only its own.
bool runs_on(const Process& process, const Target& target) {
  if (!target.is_mig()) return true;
  return process.gpu_instance == target.gpu_instance->id &&
         process.compute_instance == target.compute_instance->id;
}

abi::Return list(std::string_view function, abi::Device device, Process::Kind kind, unsigned* count,
                 abi::ProcessInfo* infos) {
  return on_device(function, device, Need::kWork, [&](Target& target) {
    std::vector<abi::ProcessInfo> found;
    for (const Process& process : target.gpu.processes) {
      if (process.kind != kind || !runs_on(process, target)) continue;
      found.push_back({.pid = process.pid,
                       .used_gpu_memory = process.memory_mib << 20,
                       .gpu_instance_id = process.gpu_instance.value_or(abi::kNoInstance),
                       .compute_instance_id = process.compute_instance.value_or(abi::kNoInstance)});
    }
    return copy_array<abi::ProcessInfo>(found, count, infos);
  });
}

// The first form, without instances.
abi::Return list_v1(std::string_view function, abi::Device device, Process::Kind kind,
                    unsigned* count, layout::ProcessInfoV1* infos) {
  return on_device(function, device, Need::kWork, [&](Target& target) {
    std::vector<layout::ProcessInfoV1> found;
    for (const Process& process : target.gpu.processes) {
      if (process.kind != kind || !runs_on(process, target)) continue;
      found.push_back({process.pid, process.memory_mib << 20});
    }
    return copy_array<layout::ProcessInfoV1>(found, count, infos);
  });
}

unsigned long long now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<unsigned long long>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetComputeRunningProcesses(abi::Device device, unsigned* count,
                                                 layout::ProcessInfoV1* infos) {
  return list_v1(__func__, device, Process::Kind::kCompute, count, infos);
}
abi::Return nvmlDeviceGetComputeRunningProcesses_v2(abi::Device device, unsigned* count,
                                                    abi::ProcessInfo* infos) {
  return list(__func__, device, Process::Kind::kCompute, count, infos);
}
abi::Return nvmlDeviceGetComputeRunningProcesses_v3(abi::Device device, unsigned* count,
                                                    abi::ProcessInfo* infos) {
  return list(__func__, device, Process::Kind::kCompute, count, infos);
}

abi::Return nvmlDeviceGetGraphicsRunningProcesses(abi::Device device, unsigned* count,
                                                  layout::ProcessInfoV1* infos) {
  return list_v1(__func__, device, Process::Kind::kGraphics, count, infos);
}
abi::Return nvmlDeviceGetGraphicsRunningProcesses_v2(abi::Device device, unsigned* count,
                                                     abi::ProcessInfo* infos) {
  return list(__func__, device, Process::Kind::kGraphics, count, infos);
}
abi::Return nvmlDeviceGetGraphicsRunningProcesses_v3(abi::Device device, unsigned* count,
                                                     abi::ProcessInfo* infos) {
  return list(__func__, device, Process::Kind::kGraphics, count, infos);
}

abi::Return nvmlDeviceGetMPSComputeRunningProcesses(abi::Device device, unsigned* count,
                                                    layout::ProcessInfoV1* infos) {
  return list_v1(__func__, device, Process::Kind::kMps, count, infos);
}
abi::Return nvmlDeviceGetMPSComputeRunningProcesses_v2(abi::Device device, unsigned* count,
                                                       abi::ProcessInfo* infos) {
  return list(__func__, device, Process::Kind::kMps, count, infos);
}
abi::Return nvmlDeviceGetMPSComputeRunningProcesses_v3(abi::Device device, unsigned* count,
                                                       abi::ProcessInfo* infos) {
  return list(__func__, device, Process::Kind::kMps, count, infos);
}

// Every process has one sample, taken now. None newer than what the caller has
// seen is NOT_FOUND, as is none at all. Asked without an array, the answer is
// the size of the driver's buffer, whatever is in it.
abi::Return nvmlDeviceGetProcessUtilization(abi::Device device,
                                            layout::ProcessUtilizationSample* samples,
                                            unsigned* count, unsigned long long last_seen) {
  return on_gpu(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (target.gpu.mig.enabled) return abi::kNotSupported;
    if (count == nullptr) return abi::kInvalidArgument;
    const auto most = static_cast<unsigned>(std::max<std::size_t>(72, target.gpu.processes.size()));
    if (samples == nullptr) {
      *count = most;
      return abi::kInsufficientSize;
    }
    const unsigned long long time = now_us();
    std::vector<layout::ProcessUtilizationSample> found;
    for (const Process& process : target.gpu.processes) {
      found.push_back({.pid = process.pid,
                       .time_stamp = time,
                       .sm = process.sm,
                       .memory = process.memory,
                       .encoder = process.encoder,
                       .decoder = process.decoder});
    }
    if (found.empty() || last_seen >= time) return abi::kNotFound;
    return copy_array<layout::ProcessUtilizationSample>(found, count, samples);
  });
}

abi::Return nvmlDeviceGetUtilizationRates(abi::Device device, abi::Utilization* rates) {
  return on_gpu(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (rates == nullptr) return abi::kInvalidArgument;
    if (target.gpu.mig.enabled) return abi::kNotSupported;
    const Vitals& vitals = target.gpu.vitals;
    *rates = {vitals.gpu_utilization, vitals.memory_utilization};
    unsigned sm = 0;
    unsigned memory = 0;
    for (const Process& process : target.gpu.processes) {
      sm += process.sm;
      memory += process.memory;
    }
    rates->gpu = std::min(100U, std::max(rates->gpu, sm));
    rates->memory = std::min(100U, std::max(rates->memory, memory));
    return abi::kSuccess;
  });
}

}  // extern "C"
