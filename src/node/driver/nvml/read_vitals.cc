// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/read_vitals.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "node/driver/nvml/fabric.h"

namespace tranche::node::nvml {
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

constexpr const char* kFieldValues = "nvmlDeviceGetFieldValues";

// The GPU to read.
struct Asked {
  const Functions& api;
  abi::Device handle;
  Witness& witness;
};

// Field values in the order of `ids`; all unknown if the driver does not answer.
template <std::size_t count>
std::array<abi::FieldValue, count> ask(const Asked& asked, const std::array<unsigned, count>& ids) {
  std::array<abi::FieldValue, count> fields{};
  for (std::size_t i = 0; i < count; ++i) {
    fields[i].field_id = ids[i];
    fields[i].result = abi::kUnknown;  // until it is filled in
  }
  std::array<abi::FieldValue, count> answered = fields;
  const abi::Return code = asked.witness.hear(
      kFieldValues, asked.api.field_values(asked.handle, static_cast<int>(count), answered.data()));
  if (code != abi::kSuccess) return fields;
  // The call succeeds if one value does; each has its own result.
  for (const abi::FieldValue& field : answered) asked.witness.hear(kFieldValues, field.result);
  return answered;
}

// One driver branch before the recovery action had two flags.
std::optional<unsigned> old_recovery_action(const Asked& asked) {
  const auto fields = ask<2>(asked, {abi::kFieldResetStatus, abi::kFieldDrainResetStatus});
  const auto must_reset = yes_or_no(fields[0]);
  const auto must_drain = yes_or_no(fields[1]);
  if (!must_reset && !must_drain) return std::nullopt;
  if (must_reset.value_or(false)) return abi::kRecoveryGpuReset;
  return must_drain.value_or(false) ? abi::kRecoveryDrainAndReset : abi::kRecoveryNone;
}

void read_fields(const Asked& asked, Vitals& vitals) {
  const auto fields =
      ask<6>(asked, {abi::kFieldRecoveryAction, abi::kFieldEccDbeVolatile, abi::kFieldPcieReplay,
                     abi::kFieldRemapPending, abi::kFieldRetiredPending, abi::kFieldRemapFailure});
  const auto action = number_in(fields[0]);
  vitals.recovery_action =
      action ? std::optional(static_cast<unsigned>(*action)) : old_recovery_action(asked);
  vitals.uncorrected_ecc = number_in(fields[1]);
  vitals.pcie_replays = number_in(fields[2]);
  vitals.repair_pending = either(yes_or_no(fields[3]), yes_or_no(fields[4]));
  vitals.remap_failed = yes_or_no(fields[5]);
}

std::optional<bool> fabric_ready(unsigned char state, abi::Return status) {
  if (state == abi::kFabricNotSupported) return std::nullopt;
  return state == abi::kFabricCompleted && status == abi::kSuccess;
}

// A cluster without a uuid is a single node: its GPUs need no clique to find each other.
std::optional<FabricClique> clique_of(const auto& info) {
  std::string cluster = cluster_uuid_text(info.cluster_uuid);
  const bool is_ready = fabric_ready(info.state, info.status).value_or(false);
  if (!is_ready || cluster.empty()) return std::nullopt;
  return FabricClique{.cluster = std::move(cluster), .clique = info.clique_id};
}

void read_fabric(const Asked& asked, VitalsReading& reading) {
  const Functions& api = asked.api;
  constexpr const char* kFunction = "nvmlDeviceGetGpuFabricInfo";
  if (api.fabric_info_v != nullptr) {
    abi::FabricInfoV2 info{};
    info.version = abi::kFabricInfoV2;
    if (asked.witness.hear(kFunction, api.fabric_info_v(asked.handle, &info)) == abi::kSuccess) {
      reading.vitals.fabric_ready = fabric_ready(info.state, info.status);
      reading.clique = clique_of(info);
    }
  } else if (api.fabric_info != nullptr) {
    abi::FabricInfo info{};
    if (asked.witness.hear(kFunction, api.fabric_info(asked.handle, &info)) == abi::kSuccess) {
      reading.vitals.fabric_ready = fabric_ready(info.state, info.status);
      reading.clique = clique_of(info);
    }
  }
}

// An unsupported link, for example one that is not connected, is neither up nor down.
void read_links(const Asked& asked, Vitals& vitals) {
  if (asked.api.nvlink_state == nullptr) return;
  constexpr unsigned kMoreThanAnyGpuHas = 64;
  NvLinks links;
  for (unsigned link = 0; link < kMoreThanAnyGpuHas; ++link) {
    int state = 0;
    const abi::Return code = asked.witness.hear("nvmlDeviceGetNvLinkState",
                                                asked.api.nvlink_state(asked.handle, link, &state));
    // If the first link is unsupported, the GPU has none.
    if (code == abi::kInvalidArgument || (code == abi::kNotSupported && link == 0)) break;
    if (code == abi::kNotSupported) continue;
    const bool is_up = code == abi::kSuccess && state == 1;
    (is_up ? links.up : links.down).insert(link);
  }
  vitals.links = std::move(links);
}

void read_inforom(const Asked& asked, Vitals& vitals) {
  if (asked.api.validate_inforom == nullptr) return;
  const abi::Return code =
      asked.witness.hear("nvmlDeviceValidateInforom", asked.api.validate_inforom(asked.handle));
  if (code == abi::kSuccess || code == abi::kCorruptedInforom) {
    vitals.inforom_valid = code == abi::kSuccess;
  }
}

void read_units(const Asked& asked, Vitals& vitals) {
  if (asked.api.repair_status == nullptr) return;
  abi::RepairStatus status{.version = abi::kRepairStatusV1};
  const abi::Return code = asked.witness.hear("nvmlDeviceGetRepairStatus",
                                              asked.api.repair_status(asked.handle, &status));
  if (code == abi::kSuccess) {
    vitals.units_pending = status.channel_pending != 0 || status.tpc_pending != 0;
  }
}

void read_persistence(const Asked& asked, Vitals& vitals) {
  if (asked.api.persistence_mode == nullptr) return;
  unsigned mode = 0;
  const abi::Return code = asked.witness.hear("nvmlDeviceGetPersistenceMode",
                                              asked.api.persistence_mode(asked.handle, &mode));
  if (code == abi::kSuccess) vitals.persistence = mode != 0;
}

}  // namespace

VitalsReading read_vitals(const Session& session, abi::Device handle, const ReadRequest& request,
                          Witness& witness) {
  const Asked asked{session.api(), handle, witness};
  VitalsReading reading;
  Vitals& vitals = reading.vitals;
  if (asked.api.field_values != nullptr) {
    read_fields(asked, vitals);
    if (request.energy) vitals.energy_mj = number_in(ask<1>(asked, {abi::kFieldEnergy})[0]);
  }
  read_persistence(asked, vitals);
  read_fabric(asked, reading);
  if (request.links) read_links(asked, vitals);
  if (request.inforom) read_inforom(asked, vitals);
  if (request.units) read_units(asked, vitals);
  return reading;
}

}  // namespace tranche::node::nvml
