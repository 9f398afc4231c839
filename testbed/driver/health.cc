// SPDX-License-Identifier: Apache-2.0
//
// Errors that a GPU has counted, and what it waits for because of them.
#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

extern "C" {

// The mode now and after the next boot: always on where there is ECC.
abi::Return nvmlDeviceGetEccMode(abi::Device device, unsigned* current, unsigned* pending) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (current == nullptr || pending == nullptr) return abi::kInvalidArgument;
    if (!target.gpu.model.ecc) return abi::kNotSupported;
    *current = 1;
    *pending = 1;
    return abi::kSuccess;
  });
}

// `type` 0 corrected, 1 uncorrected; `counter` 0 since the last reset, 1 ever.
abi::Return nvmlDeviceGetTotalEccErrors(abi::Device device, int type, int counter,
                                        unsigned long long* count) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (type < 0 || type > 1 || counter < 0 || counter > 1) return abi::kInvalidArgument;
    if (!target.gpu.model.ecc) return abi::kNotSupported;
    const Vitals& vitals = target.gpu.vitals;
    const EccCounts& counts = counter == 0 ? vitals.ecc_volatile : vitals.ecc_aggregate;
    return answer(count, type == 0 ? counts.corrected : counts.uncorrected);
  });
}

abi::Return nvmlDeviceGetRemappedRows(abi::Device device, unsigned* correctable,
                                      unsigned* uncorrectable, unsigned* pending,
                                      unsigned* failed) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (correctable == nullptr || uncorrectable == nullptr || pending == nullptr ||
        failed == nullptr) {
      return abi::kInvalidArgument;
    }
    const bool cut = target.gpu.mig.enabled && !target.gpu.mig.instances.empty();
    if (!target.gpu.model.remaps_rows || cut) return abi::kNotSupported;
    const Vitals& vitals = target.gpu.vitals;
    *correctable = vitals.remaps_correctable;
    *uncorrectable = vitals.remaps_uncorrectable;
    *pending = vitals.remap_pending ? 1 : 0;
    *failed = vitals.remap_failed ? 1 : 0;
    return abi::kSuccess;
  });
}

// What GPUs did before they remapped rows.
abi::Return nvmlDeviceGetRetiredPagesPendingStatus(abi::Device device, unsigned* pending) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    const Model& model = target.gpu.model;
    if (model.remaps_rows || !model.ecc) return abi::kNotSupported;
    return answer(pending, target.gpu.vitals.retired_pending ? 1 : 0);
  });
}

// Units of the chip that are retired at the next reset.
abi::Return nvmlDeviceGetRepairStatus(abi::Device device, abi::RepairStatus* status) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (target.call.branch() < 580) return abi::kFunctionNotFound;
    if (status == nullptr) return abi::kInvalidArgument;
    if (status->version != abi::kRepairStatusV1) return abi::kArgumentVersionMismatch;
    status->channel_pending = target.gpu.vitals.channel_repair_pending ? 1 : 0;
    status->tpc_pending = target.gpu.vitals.tpc_repair_pending ? 1 : 0;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetPcieReplayCounter(abi::Device device, unsigned* count) {
  return on_gpu(__func__, device, Need::kIdentity,
                [&](Target& target) { return answer(count, target.gpu.vitals.pcie_replays); });
}

abi::Return nvmlDeviceGetTotalEnergyConsumption(abi::Device device, unsigned long long* energy) {
  return on_gpu(__func__, device, Need::kIdentity,
                [&](Target& target) { return answer(energy, target.gpu.vitals.energy_mj); });
}

abi::Return nvmlDeviceValidateInforom(abi::Device device) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) {
    return target.gpu.vitals.inforom_valid ? abi::kSuccess : abi::kCorruptedInforom;
  });
}

}  // extern "C"
