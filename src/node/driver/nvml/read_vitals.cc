// SPDX-License-Identifier: Apache-2.0
#include "nvml/read_vitals.h"

#include <array>
#include <cstdint>
#include <optional>

namespace tranche::nvml {
namespace {

std::optional<std::uint64_t> number_in(const abi::FieldValue& field) {
  if (field.result != abi::kSuccess) return std::nullopt;
  switch (field.value_type) {
    case abi::kValueUint: return field.value.ui;
    case abi::kValueUlong: return field.value.ul;
    case abi::kValueUlonglong: return field.value.ull;
    case abi::kValueUshort: return field.value.us;
    case abi::kValueSint:
      return field.value.si < 0 ? std::nullopt
                                : std::optional(static_cast<std::uint64_t>(field.value.si));
    case abi::kValueSlonglong:
      return field.value.sll < 0 ? std::nullopt
                                 : std::optional(static_cast<std::uint64_t>(field.value.sll));
    default: return std::nullopt;
  }
}

std::optional<bool> yes_or_no(const abi::FieldValue& field) {
  const auto number = number_in(field);
  return number ? std::optional(*number != 0) : std::nullopt;
}

// Row remapping on newer GPUs, page retirement on older ones.
std::optional<bool> either(std::optional<bool> a, std::optional<bool> b) {
  if (!a && !b) return std::nullopt;
  return a.value_or(false) || b.value_or(false);
}

// The answers to these questions, in their order; all unknown where the driver
// does not answer.
template <std::size_t count>
std::array<abi::FieldValue, count> ask(const Functions& api, abi::Device handle,
                                       const std::array<unsigned, count>& ids) {
  std::array<abi::FieldValue, count> fields{};
  for (std::size_t i = 0; i < count; ++i) {
    fields[i].field_id = ids[i];
    fields[i].result = abi::kUnknown;  // until it is filled in
  }
  std::array<abi::FieldValue, count> answered = fields;
  const abi::Return code = api.field_values(handle, static_cast<int>(count), answered.data());
  return code == abi::kSuccess ? answered : fields;
}

// Before the recovery action there were, in one branch, two flags.
std::optional<unsigned> old_recovery_action(const Functions& api, abi::Device handle) {
  const auto fields = ask<2>(api, handle, {abi::kFieldResetStatus, abi::kFieldDrainResetStatus});
  const auto must_reset = yes_or_no(fields[0]);
  const auto must_drain = yes_or_no(fields[1]);
  if (!must_reset && !must_drain) return std::nullopt;
  if (must_reset.value_or(false)) return abi::kRecoveryGpuReset;
  return must_drain.value_or(false) ? abi::kRecoveryDrainAndReset : abi::kRecoveryNone;
}

void read_fields(const Functions& api, abi::Device handle, Vitals& vitals) {
  const auto fields =
      ask<6>(api, handle,
             {abi::kFieldRecoveryAction, abi::kFieldEccDbeVolatile, abi::kFieldPcieReplay,
              abi::kFieldRemapPending, abi::kFieldRetiredPending, abi::kFieldRemapFailure});
  const auto action = number_in(fields[0]);
  vitals.recovery_action =
      action ? std::optional(static_cast<unsigned>(*action)) : old_recovery_action(api, handle);
  vitals.uncorrected_ecc = number_in(fields[1]);
  vitals.pcie_replays = number_in(fields[2]);
  vitals.repair_pending = either(yes_or_no(fields[3]), yes_or_no(fields[4]));
  vitals.remap_failed = yes_or_no(fields[5]);
}

std::optional<bool> fabric_ready(unsigned char state, abi::Return status) {
  if (state == abi::kFabricNotSupported) return std::nullopt;
  return state == abi::kFabricCompleted && status == abi::kSuccess;
}

void read_fabric(const Functions& api, abi::Device handle, Vitals& vitals) {
  if (api.fabric_info_v != nullptr) {
    abi::FabricInfoV2 info{};
    info.version = abi::kFabricInfoV2;
    if (api.fabric_info_v(handle, &info) == abi::kSuccess) {
      vitals.fabric_ready = fabric_ready(info.state, info.status);
    }
  } else if (api.fabric_info != nullptr) {
    abi::FabricInfo info{};
    if (api.fabric_info(handle, &info) == abi::kSuccess) {
      vitals.fabric_ready = fabric_ready(info.state, info.status);
    }
  }
}

// Links that the GPU has and that are not up. One that was never connected
// answers "not supported" and does not count.
void read_links(const Functions& api, abi::Device handle, Vitals& vitals) {
  if (api.nvlink_state == nullptr) return;
  constexpr unsigned kMoreThanAnyGpuHas = 64;
  unsigned down = 0;
  for (unsigned link = 0; link < kMoreThanAnyGpuHas; ++link) {
    int state = 0;
    const abi::Return code = api.nvlink_state(handle, link, &state);
    if (code == abi::kInvalidArgument) break;
    if (code == abi::kSuccess && state == 0) ++down;
  }
  vitals.links_down = down;
}

}  // namespace

Vitals read_vitals(const Session& session, abi::Device handle, const ReadWish& wish) {
  const Functions& api = session.api();
  Vitals vitals;
  if (api.field_values != nullptr) {
    read_fields(api, handle, vitals);
    if (wish.energy) vitals.energy_mj = number_in(ask<1>(api, handle, {abi::kFieldEnergy})[0]);
  }
  read_fabric(api, handle, vitals);
  if (wish.links) read_links(api, handle, vitals);
  if (wish.inforom && api.validate_inforom != nullptr) {
    const abi::Return code = api.validate_inforom(handle);
    if (code == abi::kSuccess || code == abi::kCorruptedInforom) {
      vitals.inforom_valid = code == abi::kSuccess;
    }
  }
  return vitals;
}

}  // namespace tranche::nvml
