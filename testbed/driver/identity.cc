// SPDX-License-Identifier: Apache-2.0
//
// Who a device is and where it sits.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "testbed/driver/call.h"
#include "testbed/driver/more_abi.h"
#include "testbed/driver/pci_info.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)
using tranche::testbed::PciAddress;

namespace {

std::string bus_id(const PciAddress& pci, int domain_digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%0*X:%02X:%02X.0", domain_digits, pci.domain, pci.bus,
                pci.device);
  return text.data();
}

unsigned device_id(const Gpu& gpu) { return gpu.model.device_id << 16 | 0x10DE; }
unsigned subsystem_id(const Gpu& gpu) {
  return gpu.model.subsystem_id << 16 | gpu.model.subsystem_vendor;
}

abi::Return old_pci_info(std::string_view function, abi::Device device, void* info,
                         std::size_t size) {
  return on_gpu(function, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    if (info == nullptr) return abi::kInvalidArgument;
    fill_old_pci_info(target.gpu, info, size);
    return abi::kSuccess;
  });
}

}  // namespace

namespace tranche::testbed::sim {

void fill_pci_info(const Gpu& gpu, abi::PciInfo& info) {
  info = {.domain = gpu.pci.domain,
          .bus = gpu.pci.bus,
          .device = gpu.pci.device,
          .pci_device_id = device_id(gpu),
          .pci_subsystem_id = subsystem_id(gpu)};
  (void)copy_text(bus_id(gpu.pci, 4), info.bus_id_legacy, sizeof(info.bus_id_legacy));
  (void)copy_text(bus_id(gpu.pci, 8), info.bus_id, sizeof(info.bus_id));
}

void fill_old_pci_info(const Gpu& gpu, void* info, std::size_t size) {
  layout::OldPciInfo made{.domain = gpu.pci.domain,
                          .bus = gpu.pci.bus,
                          .device = gpu.pci.device,
                          .pci_device_id = device_id(gpu),
                          .pci_subsystem_id = subsystem_id(gpu)};
  (void)copy_text(bus_id(gpu.pci, 4), made.bus_id, sizeof(made.bus_id));
  std::memcpy(info, &made, size);
}

}  // namespace tranche::testbed::sim

extern "C" {

abi::Return nvmlDeviceGetName(abi::Device device, char* name, unsigned length) {
  return on_device(__func__, device, Need::kRemembered, [&](Target& target) {
    std::string text = target.gpu.model.name;
    if (target.is_mig()) {
      text += " MIG " + profile_name(target.gpu, *target.gpu_instance, *target.compute_instance);
    }
    return copy_text(text, name, length);
  });
}

abi::Return nvmlDeviceGetUUID(abi::Device device, char* uuid, unsigned length) {
  return on_device(__func__, device, Need::kRemembered, [&](Target& target) {
    const std::string& text =
        target.is_mig() ? target.compute_instance->uuid.text : target.gpu.uuid.text;
    return copy_text(text, uuid, length);
  });
}

abi::Return nvmlDeviceGetSerial(abi::Device device, char* serial, unsigned length) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) {
    if (target.gpu.serial.empty()) return abi::kNotSupported;
    return copy_text(target.gpu.serial, serial, length);
  });
}

abi::Return nvmlDeviceGetBoardPartNumber(abi::Device device, char* part, unsigned length) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) {
    if (target.gpu.model.board_part.empty()) return abi::kNotSupported;
    return copy_text(target.gpu.model.board_part, part, length);
  });
}

abi::Return nvmlDeviceGetIndex(abi::Device device, unsigned* index) {
  return on_device(__func__, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    if (target.is_mig()) return answer(index, target.compute_instance->index);
    const auto seen = target.call.session.gpus();
    for (std::size_t i = 0; i < seen->size(); ++i) {
      if ((*seen)[i].uuid == target.gpu.uuid) return answer(index, i);
    }
    return abi::kNotFound;
  });
}

abi::Return nvmlDeviceGetMinorNumber(abi::Device device, unsigned* minor) {
  return on_gpu(__func__, device, Need::kRemembered,
                [&](Target& target) { return answer(minor, target.gpu.minor); });
}

abi::Return nvmlDeviceGetPciInfo(abi::Device device, void* info) {
  return old_pci_info(__func__, device, info, offsetof(layout::OldPciInfo, pci_subsystem_id));
}
abi::Return nvmlDeviceGetPciInfo_v2(abi::Device device, void* info) {
  return old_pci_info(__func__, device, info, sizeof(layout::OldPciInfo));
}

abi::Return nvmlDeviceGetPciInfo_v3(abi::Device device, abi::PciInfo* info) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    if (info == nullptr) return abi::kInvalidArgument;
    fill_pci_info(target.gpu, *info);
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetPciInfoExt(abi::Device device, layout::PciInfoExt* info) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    if (info == nullptr) return abi::kInvalidArgument;
    if (info->version != layout::kPciInfoExt) return abi::kArgumentVersionMismatch;
    const Gpu& gpu = target.gpu;
    *info = {.version = layout::kPciInfoExt,
             .domain = gpu.pci.domain,
             .bus = gpu.pci.bus,
             .device = gpu.pci.device,
             .pci_device_id = device_id(gpu),
             .pci_subsystem_id = subsystem_id(gpu),
             .base_class = gpu.model.pci_class >> 16,
             .sub_class = gpu.model.pci_class >> 8 & 0xFF};
    return copy_text(bus_id(gpu.pci, 8), info->bus_id, sizeof(info->bus_id));
  });
}

abi::Return nvmlDeviceGetBrand(abi::Device device, int* brand) {
  return on_device(__func__, device, Need::kRemembered,
                   [&](Target& target) { return answer(brand, target.gpu.model.brand); });
}

abi::Return nvmlDeviceGetArchitecture(abi::Device device, unsigned* architecture) {
  return on_device(__func__, device, Need::kRemembered, [&](Target& target) {
    return answer(architecture, target.gpu.model.architecture);
  });
}

abi::Return nvmlDeviceGetCudaComputeCapability(abi::Device device, int* major, int* minor) {
  return on_device(__func__, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    if (major == nullptr || minor == nullptr) return abi::kInvalidArgument;
    *major = static_cast<int>(target.gpu.model.compute_major);
    *minor = static_cast<int>(target.gpu.model.compute_minor);
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetNumGpuCores(abi::Device device, unsigned* cores) {
  return on_gpu(__func__, device, Need::kRemembered,
                [&](Target& target) { return answer(cores, target.gpu.model.cores); });
}

abi::Return nvmlDeviceGetBoardId(abi::Device device, unsigned* id) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) {
    const PciAddress& pci = target.gpu.pci;
    return answer(id, pci.domain << 16 | pci.bus << 8 | pci.device);
  });
}

abi::Return nvmlDeviceGetMultiGpuBoard(abi::Device device, unsigned* several) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) {
    unsigned on_board = 0;
    for (const Gpu& other : target.world().gpus) {
      const std::string& board = target.gpu.place.board;
      on_board += !board.empty() && other.place.board == board ? 1U : 0U;
    }
    return answer(several, on_board > 1 ? 1 : 0);
  });
}

abi::Return nvmlDeviceGetAddressingMode(abi::Device device, layout::AddressingMode* mode) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    if (target.call.branch() < 580) return abi::kNotSupported;
    if (mode == nullptr) return abi::kInvalidArgument;
    if (mode->version != layout::kAddressingMode) return abi::kArgumentVersionMismatch;
    // 1: the kernel's heterogeneous memory; 2: the CPU's own address translation.
    mode->value = target.gpu.model.coherent ? 2 : 1;
    return abi::kSuccess;
  });
}

}  // extern "C"
