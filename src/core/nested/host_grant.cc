// SPDX-License-Identifier: Apache-2.0
#include "core/nested/host_grant.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/text.h"

namespace tranche::core {
namespace {

constexpr std::size_t kMostNamed = 8;

// The granted part of one device, over all resources.
struct Part {
  // Empty: all of its memory, or memory is not counted.
  std::optional<std::uint64_t> bytes;
  // The host's own part of the device; 0: not known.
  std::uint64_t hosts_bytes = 0;
  Health health;
};

void add(Part& part, const NestedDevice& device, bool is_first) {
  const bool is_counted = device.form != ShareForm::kWhole && device.granted_bytes.has_value();
  if (is_first && is_counted) part.bytes = 0;
  if (!is_counted) part.bytes.reset();
  if (part.bytes) *part.bytes += *device.granted_bytes;
  part.hosts_bytes = device.memory_bytes;
  for (const std::string& trouble : device.health.troubles) {
    const std::string reported = "host: " + trouble;
    if (std::ranges::find(part.health.troubles, reported) == part.health.troubles.end()) {
      part.health.troubles.push_back(reported);
    }
  }
}

// By uuid, or by index if the file has one.
using Parts = std::map<std::string, Part>;

Parts parts_of(const HostGrant& grant) {
  Parts parts;
  for (const NestedGrant& one : grant.grants) {
    for (const NestedDevice& device : one.devices) {
      const bool is_first = !parts.contains(device.uuid);
      add(parts[device.uuid], device, is_first);
    }
  }
  if (grant.env) {
    for (const std::string& name : grant.env->names) parts.try_emplace(name);
  }
  return parts;
}

class Taking {
 public:
  Taking(Parts parts, bool all) : parts_(std::move(parts)), all_(all) {}

  // The part granted under any of these names; null: none.
  const Part* part(const std::string& uuid, const std::string& index) {
    const Part* found = nullptr;
    for (const std::string& name : {uuid, index}) {
      const auto part = parts_.find(name);
      if (part == parts_.end()) continue;
      known_.insert(name);
      found = &part->second;
    }
    return found == nullptr && all_ ? &everything_ : found;
  }

  std::vector<std::string> unknown() const {
    std::vector<std::string> names;
    for (const auto& [name, part] : parts_) {
      if (!known_.contains(name)) names.push_back(name);
    }
    return names;
  }

 private:
  const Parts parts_;
  const bool all_;
  const Part everything_;
  std::set<std::string> known_;
};

template <typename Device>
void apply(const Part& part, Device& device) {
  for (const std::string& trouble : part.health.troubles) device.health.troubles.push_back(trouble);
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t known = device.memory_bytes == 0 ? kAll : device.memory_bytes;
  const std::uint64_t hosts = part.hosts_bytes == 0 ? kAll : part.hosts_bytes;
  const std::uint64_t granted = std::min(part.bytes.value_or(kAll), hosts);
  if (granted >= known) return;
  // If the host did not know its size, the host's value is no limit.
  device.partial = device.memory_bytes != 0 || part.bytes;
  device.memory_bytes = granted;
}

// False: nothing of it was granted.
bool take(Taking& taking, Gpu& gpu) {
  // A host and its scripts use the driver's indexes.
  const auto counted = gpu.runtime_index();
  const std::string index = counted ? std::to_string(*counted) : "not listed";
  const Part* whole = taking.part(gpu.uuid.text, index);
  std::vector<MigDevice> slices;
  for (MigDevice mig : gpu.mig) {
    const Part* part = taking.part(mig.uuid.text, fmt::format("{}:{}", index, mig.index));
    if (part == nullptr) continue;
    apply(*part, mig);
    slices.push_back(std::move(mig));
  }
  if (whole != nullptr) {
    apply(*whole, gpu);
    return true;
  }
  gpu.only_slices = true;
  gpu.mig = std::move(slices);
  return !gpu.mig.empty();
}

}  // namespace

GuestInventory granted_part(const Inventory& inventory, const HostGrant& grant) {
  GuestInventory guest{.inventory = inventory};
  Taking taking(parts_of(grant), grant.env && grant.env->all);
  guest.inventory.gpus.clear();
  for (Gpu gpu : inventory.gpus) {
    if (take(taking, gpu)) guest.inventory.gpus.push_back(std::move(gpu));
  }
  if (grant.env == GpuEnv{}) {
    guest.notes.push_back(grant.source + " is empty: nothing is offered until it names GPUs");
  }
  // A driver that cannot be read has no GPUs for now.
  if (!inventory.driver_trouble.empty()) return guest;
  std::vector<std::string> unknown = taking.unknown();
  const std::size_t count = unknown.size();
  if (count == 0) return guest;
  if (count > kMostNamed) unknown.resize(kMostNamed);
  std::string names = join(unknown, ", ");
  if (count > kMostNamed) names += fmt::format(" and {} more", count - kMostNamed);
  guest.notes.push_back(fmt::format(
      "the host granted what the driver here does not have: {} (by {})", names, grant.source));
  return guest;
}

GuestInventory unknown_part(const Inventory& inventory, const std::string& problem) {
  GuestInventory guest{.inventory = inventory};
  guest.inventory.gpus.clear();
  guest.inventory.driver = DriverKind::kNone;
  guest.inventory.driver_trouble = "it is not known what the host granted: " + problem;
  guest.notes.push_back("nothing is offered until it is known what the host granted: " + problem);
  return guest;
}

std::string to_string(const HostGrant& grant) {
  if (grant.env && grant.env->all) return "all";
  std::vector<std::string> names;
  for (const auto& [name, part] : parts_of(grant)) {
    if (names.size() == kMostNamed) names.emplace_back("…");
    if (names.size() > kMostNamed) break;
    names.push_back(name);
  }
  return names.empty() ? "none" : join(names, ",");
}

}  // namespace tranche::core
