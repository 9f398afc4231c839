// SPDX-License-Identifier: Apache-2.0
//
// nvmlDeviceGetFieldValues: many small numbers by their ids.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

namespace {

// What reading one field gives: a number of some type, or why there is none.
struct Field {
  abi::Return result = abi::kNotSupported;
  int type = abi::kValueUint;
  unsigned long long number = 0;
};

Field whole(unsigned long long number) { return {abi::kSuccess, abi::kValueUlonglong, number}; }
Field small(unsigned number) { return {abi::kSuccess, abi::kValueUint, number}; }
Field none() { return {}; }

Field ecc_count(const Target& target, const EccCounts& counts, bool uncorrected) {
  if (!target.gpu.model.ecc) return none();
  return whole(uncorrected ? counts.uncorrected : counts.corrected);
}

// As everywhere with MIG: not while instances are there.
Field remap(const Target& target, unsigned number) {
  const bool hidden = target.gpu.mig.enabled && !target.gpu.mig.instances.empty();
  if (!target.gpu.model.remaps_rows || hidden) return none();
  return whole(number);
}

// A GPU that could have links but has none says so of the count, and yet has
// zero links to switches.
Field link_count(const Target& target) {
  return target.gpu.links.empty() ? none() : small(target.gpu.model.nvlinks);
}

Field links_to_switches(const Target& target) {
  if (target.gpu.model.nvlinks == 0) return none();
  const auto count = std::ranges::count_if(target.gpu.links, [](const NvLink& link) {
    return link.peer == NvLink::Peer::kSwitch && link.active;
  });
  return small(static_cast<unsigned>(count));
}

const NvLink* link_at(const Target& target, unsigned scope) {
  return scope < target.gpu.links.size() ? &target.gpu.links[scope] : nullptr;
}

Field link_number(const Target& target, unsigned scope, unsigned number) {
  const NvLink* link = link_at(target, scope);
  if (link == nullptr) return none();
  return small(link->active ? number : 0);
}

Field link_counter(const Target& target, unsigned scope) {
  return link_at(target, scope) == nullptr ? none() : whole(0);
}

using Reader = Field (*)(const Target&, unsigned scope);
struct Known {
  unsigned since;  // the driver branch that brought it
  Reader read;
};

const std::map<unsigned, Known>& fields() {
  using T = const Target&;
  static const std::map<unsigned, Known> all = {
      {1, {0, [](T t, unsigned) { return t.gpu.model.ecc ? whole(1) : none(); }}},
      {2, {0, [](T t, unsigned) { return t.gpu.model.ecc ? whole(1) : none(); }}},
      {3, {0, [](T t, unsigned) { return ecc_count(t, t.gpu.vitals.ecc_volatile, false); }}},
      {4, {0, [](T t, unsigned) { return ecc_count(t, t.gpu.vitals.ecc_volatile, true); }}},
      {5, {0, [](T t, unsigned) { return ecc_count(t, t.gpu.vitals.ecc_aggregate, false); }}},
      {6, {0, [](T t, unsigned) { return ecc_count(t, t.gpu.vitals.ecc_aggregate, true); }}},
      {31,
       {0,
        [](T t, unsigned) {
          const Model& model = t.gpu.model;
          if (model.remaps_rows || !model.ecc) return none();
          return whole(t.gpu.vitals.retired_pending ? 1 : 0);
        }}},
      {83, {0, [](T t, unsigned) { return whole(t.gpu.vitals.energy_mj); }}},
      {91, {0, [](T t, unsigned) { return link_count(t); }}},
      {94, {0, [](T t, unsigned) { return small(t.gpu.vitals.pcie_replays); }}},
      {142, {450, [](T t, unsigned) { return remap(t, t.gpu.vitals.remaps_correctable); }}},
      {143, {450, [](T t, unsigned) { return remap(t, t.gpu.vitals.remaps_uncorrectable); }}},
      {144, {450, [](T t, unsigned) { return remap(t, t.gpu.vitals.remap_pending ? 1 : 0); }}},
      {145, {450, [](T t, unsigned) { return remap(t, t.gpu.vitals.remap_failed ? 1 : 0); }}},
      {146, {450, [](T t, unsigned scope) { return link_number(t, scope, scope); }}},
      {147, {460, [](T t, unsigned) { return links_to_switches(t); }}},
      {160, {465, link_counter}},
      {161, {520, link_counter}},
      {162, {520, link_counter}},
      {163, {520, link_counter}},
      {164,
       {520, [](T t, unsigned scope) { return link_number(t, scope, t.gpu.model.nvlink_mbps); }}},
      {165, {520, [](T t, unsigned scope) { return link_number(t, scope, 1); }}},
      {166,
       {520,
        [](T t, unsigned scope) { return link_number(t, scope, t.gpu.model.nvlink_version); }}},
      {226, {560, [](T t, unsigned) { return small(t.gpu.vitals.recovery_action == 1 ? 1 : 0); }}},
      {227, {560, [](T t, unsigned) { return small(t.gpu.vitals.recovery_action == 4 ? 1 : 0); }}},
      {230, {565, [](T t, unsigned) { return small(t.gpu.vitals.recovery_action); }}},
  };
  return all;
}

void read_field(const Target& target, abi::FieldValue& value) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  value.timestamp = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  value.latency_us = 1;
  value.value.ull = 0;
  const auto known = fields().find(value.field_id);
  if (known == fields().end() || known->second.since > target.call.branch()) {
    value.result = abi::kInvalidArgument;  // the driver has never heard of it
    return;
  }
  Field field = known->second.read(target, value.scope_id);
  const abi::Return fault =
      target.call.session.judge_field(target.world(), target.gpu.uuid, value.field_id);
  if (fault != abi::kSuccess) field.result = fault;
  if (target.gpu.state == Gpu::State::kUnreachable) field.result = abi::kGpuIsLost;
  value.result = field.result;
  if (field.result != abi::kSuccess) return;
  value.value_type = field.type;
  if (field.type == abi::kValueUint) {
    value.value.ui = static_cast<unsigned>(field.number);
  } else {
    value.value.ull = field.number;
  }
}

}  // namespace

extern "C" {

// Fails as a whole only where nothing could be asked; each field tells for
// itself, also that the card cannot be reached.
abi::Return nvmlDeviceGetFieldValues(abi::Device device, int count, abi::FieldValue* values) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    if (values == nullptr || count <= 0) return abi::kInvalidArgument;
    for (int i = 0; i < count; ++i) read_field(target, values[i]);
    return abi::kSuccess;
  });
}

}  // extern "C"
