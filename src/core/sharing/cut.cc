// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/cut.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "core/sharing/memory_unit.h"
#include "core/sharing/selection.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

bool fits(const ResourcePolicy& row, const WholeDevice& device) {
  if (row.mig_profile.has_value() != device.mig_profile.has_value()) return false;
  if (row.mig_profile && !glob_match(*row.mig_profile, *device.mig_profile)) return false;
  return !row.model || glob_match(lower(*row.model), lower(device.gpu_model));
}

// Resources with NVIDIA's names have NVIDIA's ids, so that NVIDIA's plugin can be replaced
// and come back.
bool has_nvidia_ids(const ResourcePolicy& row) {
  return row.terms.form != ShareForm::kMemory && row.resource.text.starts_with("nvidia.com/");
}

bool promises_memory(const ResourcePolicy& row) {
  if (row.terms.form == ShareForm::kWhole) return false;
  return row.terms.form == ShareForm::kMemory || row.replica_memory ||
         row.terms.demanded.value_or(Enforcement::kNone) != Enforcement::kNone;
}

// " (model: '*T4*', migProfile: '1g.*')"; empty for a row without patterns.
std::string patterns_of(const ResourcePolicy& row) {
  std::vector<std::string> patterns;
  if (row.model) patterns.push_back(fmt::format("model: '{}'", *row.model));
  if (row.mig_profile) patterns.push_back(fmt::format("migProfile: '{}'", *row.mig_profile));
  return patterns.empty() ? "" : fmt::format(" ({})", join(patterns, ", "));
}

class Cutting {
 public:
  Cutting(const std::vector<WholeDevice>& devices, const Inventory& inventory)
      : devices_(devices), inventory_(inventory) {}

  void apply(const ResourcePolicy& row) {
    std::vector<const OfferedDevice*> fitting;
    for (const WholeDevice& device : devices_) {
      if (!fits(row, device)) continue;
      fitting.push_back(&device.device);
      if (device.shares_memory) sharing_memory_.insert(device.device.uuid);
    }
    const SlicesByGpu slices = row.mig_profile ? SlicesByGpu::kYes : SlicesByGpu::kNo;
    const std::string where = "tranche.policies: " + row.resource.text;
    if (fitting.empty()) {
      cuts_.notes.push_back(
          fmt::format("{} fits no device of this node{}", where, patterns_of(row)));
    }
    for (const std::string& sentence : missing(row.devices, fitting, inventory_, slices)) {
      cuts_.notes.push_back(fmt::format("{}: {}", where, sentence));
    }
    Selector selector(row.devices, slices);
    for (const OfferedDevice* device : fitting) {
      if (selector.takes(*device)) add(*device, row);
    }
  }

  Cuts finish() && {
    for (auto& [name, made] : made_) {
      finish_units(made);
      if (made.offer.devices.empty()) continue;
      std::ranges::sort(made.offer.devices, {}, [](const OfferedDevice& device) {
        return std::pair(device.gpu_index, device.mig_index);
      });
      cuts_.offers.push_back(std::move(made.offer));
    }
    count_replicas_where_memory_is_counted();
    return std::move(cuts_);
  }

 private:
  struct Made {
    Offer offer;
    std::optional<std::uint64_t> unit;
    std::uint64_t kept_unit = 0;
  };

  void withhold(const OfferedDevice& device, const ResourceName& name, const std::string& why) {
    cuts_.withheld.push_back({device.uuid, device.index(), fmt::format("{}: {}", name.text, why)});
  }

  void add(OfferedDevice device, const ResourcePolicy& row) {
    cuts_.taken.insert(device.uuid);
    if (!has_nvidia_ids(row)) device.tag = share_tag(row.resource);
    const bool numbered = row.terms.form != ShareForm::kWhole;
    const auto [owner, is_first] =
        ids_.try_emplace(std::tuple(device.uuid, device.tag, numbered), row.resource);
    if (!is_first) {
      return owner->second == row.resource
                 ? withhold(device, row.resource, "two rows offer it under this name")
                 : withhold(
                       device, row.resource,
                       fmt::format(
                           "its ids would be those of {} too; give one of them a domain of its own",
                           owner->second.text));
    }
    if (promises_memory(row) && sharing_memory_.contains(device.uuid)) {
      return withhold(device, row.resource,
                      "its memory is that of its GPU instance, which other MIG devices have too");
    }
    if (row.terms.form == ShareForm::kMemory && device.memory_bytes == 0) {
      return withhold(device, row.resource,
                      "the size of its memory is not known, so it cannot be offered in units");
    }
    device.share_bytes = device.memory_bytes;
    if (row.terms.form == ShareForm::kReplicas) {
      device.share_bytes = row.replica_memory.value_or(0);
      device.replicas = replicas_that_fit(device, row);
      if (*device.replicas == 0) {
        return withhold(device, row.resource, "it has less memory than one of its replicas covers");
      }
    }
    Made& made = made_[row.resource];
    made.offer.name = row.resource;
    made.offer.terms = row.terms;
    made.unit = row.unit;
    made.kept_unit = row.kept_unit;
    made.offer.devices.push_back(std::move(device));
  }

  // The device must have the memory that its replicas cover.
  unsigned replicas_that_fit(const OfferedDevice& device, const ResourcePolicy& row) {
    if (device.share_bytes == 0 || device.memory_bytes == 0) return row.replicas;
    const std::uint64_t most = device.memory_bytes / device.share_bytes;
    if (most >= row.replicas) return row.replicas;
    cuts_.notes.push_back(
        fmt::format("tranche.policies: {}: {} replicas do not fit the memory of {}; {} are offered",
                    row.resource.text, row.replicas, device.uuid, most));
    return static_cast<unsigned>(most);
  }

  void finish_units(Made& made) {
    if (made.offer.terms.form != ShareForm::kMemory) return;
    cut_into_units(made.offer, made.unit ? *made.unit : chosen_unit(made));
    std::erase_if(made.offer.devices, [&](const OfferedDevice& device) {
      if (device.shares() > 0) return false;
      withhold(device, made.offer.name,
               "it has less memory than one unit of " + unit_text(made.offer.terms.unit_bytes));
      return true;
    });
  }

  std::uint64_t chosen_unit(const Made& made) {
    const std::uint64_t smallest = smallest_unit(made.offer);
    if (made.kept_unit > smallest) {
      cuts_.notes.push_back(
          fmt::format("tranche.policies: {}: a unit stays {}, as chosen before, although {} would "
                      "fit; set a unit to change it",
                      made.offer.name.text, unit_text(made.kept_unit), unit_text(smallest)));
    }
    return std::max(smallest, made.kept_unit);
  }

  // A replica without `memory` covers its part of the total, if any name of the device
  // counts memory.
  void count_replicas_where_memory_is_counted() {
    std::set<std::string> counted;
    for (const Offer& offer : cuts_.offers) {
      if (offer.terms.form == ShareForm::kWhole) continue;
      const bool enforced = offer.terms.demanded.value_or(Enforcement::kNone) != Enforcement::kNone;
      for (const OfferedDevice& device : offer.devices) {
        if (device.share_bytes > 0 || enforced || device.partial) counted.insert(device.uuid);
      }
    }
    for (Offer& offer : cuts_.offers) {
      if (offer.terms.form != ShareForm::kReplicas) continue;
      for (OfferedDevice& device : offer.devices) {
        if (device.share_bytes == 0 && counted.contains(device.uuid)) {
          device.share_bytes = device.memory_bytes / device.shares();
        }
      }
    }
  }

  const std::vector<WholeDevice>& devices_;
  const Inventory& inventory_;
  std::set<std::string> sharing_memory_;  // uuids: see WholeDevice
  std::map<ResourceName, Made> made_;
  std::map<std::tuple<std::string, std::string, bool>, ResourceName> ids_;
  Cuts cuts_;
};

}  // namespace

Cuts cut(const std::vector<WholeDevice>& devices, const std::vector<ResourcePolicy>& rows,
         const Inventory& inventory) {
  Cutting cutting(devices, inventory);
  for (const ResourcePolicy& row : rows) cutting.apply(row);
  return std::move(cutting).finish();
}

}  // namespace tranche::core
