// SPDX-License-Identifier: Apache-2.0
//
// From a number, a uuid, a serial or a bus id to a device.
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/gpu/pci_address.h"
#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)
using tranche::testbed::parse_pci_address;

namespace {

abi::Return count_devices(std::string_view function, unsigned* count) {
  return call(function, [&](Call& call) { return answer(count, call.session.gpus()->size()); });
}

abi::Return by_index(std::string_view function, unsigned index, abi::Device* device) {
  return call(function, [&](Call& call) -> abi::Return {
    const auto seen = call.session.gpus();
    if (device == nullptr || index >= seen->size()) return abi::kInvalidArgument;
    const Gpu* gpu = nullptr;
    if (const abi::Return reached = reach(call, (*seen)[index].uuid, gpu);
        reached != abi::kSuccess) {
      return reached;
    }
    *device = handle_of(call, *gpu);
    return abi::kSuccess;
  });
}

// The first GPU that `matches`; not found is not found, lost is lost.
abi::Return by(std::string_view function, const std::function<bool(const Gpu&)>& matches,
               abi::Device* device) {
  return call(function, [&](Call& call) -> abi::Return {
    if (device == nullptr) return abi::kInvalidArgument;
    for (const SeenGpu& seen : *call.session.gpus()) {
      const Gpu* known = find_gpu(call.world(), seen.uuid);
      if (known == nullptr || !matches(*known)) continue;
      const Gpu* gpu = nullptr;
      const abi::Return reached = reach(call, seen.uuid, gpu);
      if (reached == abi::kSuccess) *device = handle_of(call, *gpu);
      return reached;
    }
    return abi::kNotFound;
  });
}

// A MIG device's uuid, or the form of older drivers: MIG-<gpu uuid>/<gi>/<ci>.
bool is_named(const Gpu& gpu, const GpuInstance& instance, const ComputeInstance& compute,
              std::string_view uuid) {
  return compute.uuid.text == uuid || uuid == "MIG-" + gpu.uuid.text + "/" +
                                                  std::to_string(instance.id) + "/" +
                                                  std::to_string(compute.id);
}

const ComputeInstance* find_compute(const Gpu& gpu, std::string_view uuid) {
  for (const auto& [instance, compute] : list_mig_devices(gpu)) {
    if (is_named(gpu, *instance, *compute, uuid)) return compute;
  }
  return nullptr;
}

abi::Return mig_by_uuid(std::string_view function, std::string_view uuid, abi::Device* device) {
  return call(function, [&](Call& call) -> abi::Return {
    for (const SeenGpu& seen : *call.session.gpus()) {
      const Gpu* known = find_gpu(call.world(), seen.uuid);
      if (known == nullptr || find_compute(*known, uuid) == nullptr) continue;
      const Gpu* gpu = nullptr;
      const abi::Return reached = reach(call, seen.uuid, gpu);
      if (reached == abi::kSuccess) *device = handle_of(call, *gpu, *find_compute(*gpu, uuid));
      return reached;
    }
    return abi::kNotFound;
  });
}

abi::Return by_bus_id(std::string_view function, const char* bus_id, abi::Device* device) {
  const auto wanted = parse_pci_address(bus_id == nullptr ? "" : bus_id);
  if (!wanted) return call(function, [](Call&) { return abi::kInvalidArgument; });
  return by(function, [&](const Gpu& gpu) { return gpu.pci == *wanted; }, device);
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetCount(unsigned* count) { return count_devices(__func__, count); }
abi::Return nvmlDeviceGetCount_v2(unsigned* count) { return count_devices(__func__, count); }

abi::Return nvmlDeviceGetHandleByIndex(unsigned index, abi::Device* device) {
  return by_index(__func__, index, device);
}
abi::Return nvmlDeviceGetHandleByIndex_v2(unsigned index, abi::Device* device) {
  return by_index(__func__, index, device);
}

abi::Return nvmlDeviceGetHandleByUUID(const char* uuid, abi::Device* device) {
  if (uuid == nullptr || device == nullptr) {
    return call(__func__, [](Call&) { return abi::kInvalidArgument; });
  }
  const std::string_view wanted = uuid;
  if (wanted.starts_with("MIG-")) return mig_by_uuid(__func__, wanted, device);
  return by(__func__, [&](const Gpu& gpu) { return gpu.uuid.text == wanted; }, device);
}

abi::Return nvmlDeviceGetHandleBySerial(const char* serial, abi::Device* device) {
  const std::string wanted = serial == nullptr ? "" : serial;
  if (wanted.empty()) return call(__func__, [](Call&) { return abi::kInvalidArgument; });
  return by(__func__, [&](const Gpu& gpu) { return gpu.serial == wanted; }, device);
}

abi::Return nvmlDeviceGetHandleByPciBusId(const char* bus_id, abi::Device* device) {
  return by_bus_id(__func__, bus_id, device);
}
abi::Return nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, abi::Device* device) {
  return by_bus_id(__func__, bus_id, device);
}

}  // extern "C"
