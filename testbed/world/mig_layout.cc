// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/mig_layout.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"
#include "testbed/world/uuid.h"

namespace tranche::testbed::sim {
namespace {

Error refused(const std::string& message) { return {ErrorCode::kInvalidArgument, message}; }

constexpr unsigned kNoIndex = static_cast<unsigned>(-1);

bool overlaps(const Placement& a, const Placement& b) {
  return a.start < b.start + b.size && b.start < a.start + a.size;
}

// 0 to count-1, those first whose size is greatest; equals keep their order.
std::vector<std::size_t> largest_first(std::size_t count, const auto& size_of) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(size_of(b), a) < std::pair(size_of(a), b);
  });
  return order;
}

std::string known_profiles(const MigTable& table) {
  std::vector<std::string> names;
  names.reserve(table.profiles.size());
  for (const GpuInstanceProfile& profile : table.profiles) names.push_back(profile.name);
  return join(names, ", ");
}

// The driver fills 1- and 3-slice instances in from the top and the others from
// the bottom: that keeps room for a 4-slice one as long as possible.
std::vector<unsigned> starts_in_order(const GpuInstanceProfile& profile) {
  std::vector<unsigned> starts = profile.starts;
  if (profile.slices == 1 || profile.slices == 3) std::ranges::reverse(starts);
  return starts;
}

std::optional<unsigned> free_start(const std::vector<unsigned>& starts, unsigned size,
                                   const std::vector<Placement>& taken) {
  for (const unsigned start : starts) {
    const bool free = std::ranges::none_of(
        taken, [&](const Placement& other) { return overlaps({start, size}, other); });
    if (free) return start;
  }
  return std::nullopt;
}

// Ids run through the halves, the quarters and so on, each by its place: on
// eight units a 3g at 4 is 2, a 1g at 6 is 13.
unsigned instance_id(const MigTable& table, const Placement& placement) {
  return table.units / placement.size - 1 + placement.start / placement.size;
}

MigUuid mig_uuid(const Gpu& gpu, const Driver& driver, const GpuInstance& instance,
                 unsigned compute_id) {
  const std::string place = std::to_string(instance.id) + "/" + std::to_string(compute_id);
  if (branch_of(driver) < 465) return MigUuid("MIG-" + gpu.uuid.text + "/" + place);
  // As with the driver, the profile is no part of it: a re-cut can give another
  // profile to the same uuid.
  return MigUuid("MIG-" + uuid_from(gpu.uuid.text + "/" + place, '5'));
}

Result<ComputeInstance> place_compute(const GpuInstanceProfile& profile,
                                      const WantedCompute& wanted,
                                      const std::vector<ComputeInstance>& others) {
  const unsigned slices = wanted.slices == 0 ? profile.slices : wanted.slices;
  const auto offered = compute_profiles(profile);
  const auto kind = std::ranges::find(offered, slices, &ComputeInstanceProfile::slices);
  if (kind == offered.end()) {
    return refused(profile.name + " holds no compute instance of " + std::to_string(slices) +
                   " slices");
  }
  std::vector<Placement> taken;
  taken.reserve(others.size());
  for (const ComputeInstance& other : others) taken.push_back(other.placement);
  const auto starts = wanted.start ? std::vector{*wanted.start} : kind->starts;
  const auto start = free_start(starts, slices, taken);
  if (!start || !std::ranges::count(kind->starts, *start)) {
    return refused("no room in " + profile.name + " for a compute instance of " +
                   std::to_string(slices) + " slices");
  }
  unsigned id = wanted.id.value_or(0);
  const auto is_taken = [&] { return std::ranges::count(others, id, &ComputeInstance::id) > 0; };
  while (!wanted.id && is_taken()) ++id;
  if (is_taken()) return refused("compute instance id " + std::to_string(id) + " is given twice");
  return ComputeInstance{.id = id, .profile = kind->id, .placement = {*start, slices}};
}

Status fill_instance(const Gpu& gpu, const Driver& driver, const WantedInstance& wanted,
                     GpuInstance& instance) {
  const GpuInstanceProfile& profile = *find_profile(gpu.model.mig, instance.profile);
  const auto all = wanted.compute.value_or(std::vector<WantedCompute>(1));
  for (const std::size_t i : largest_first(all.size(), [&](std::size_t each) {
         return std::pair(all[each].start.has_value(), all[each].slices);
       })) {
    const WantedCompute& each = all[i];
    Result<ComputeInstance> placed = place_compute(profile, each, instance.compute);
    if (!placed) return placed.error();
    placed->uuid = each.uuid.value_or(mig_uuid(gpu, driver, instance, placed->id));
    // Counted afterwards where it is not given.
    placed->index = each.index.value_or(kNoIndex);
    instance.compute.push_back(*placed);
  }
  std::ranges::sort(instance.compute, {}, &ComputeInstance::id);
  return Done{};
}

Result<GpuInstance> place_instance(const Gpu& gpu, const WantedInstance& wanted,
                                   const std::vector<GpuInstance>& others) {
  const MigTable& table = gpu.model.mig;
  const GpuInstanceProfile& profile = *find_profile(table, wanted.profile);
  std::vector<Placement> taken;
  unsigned same = 0;
  unsigned slices = profile.slices;
  for (const GpuInstance& other : others) {
    taken.push_back(other.placement);
    same += other.profile == profile.name ? 1U : 0U;
    slices += find_profile(table, other.profile)->slices;
  }
  const auto starts = wanted.start ? std::vector{*wanted.start} : starts_in_order(profile);
  const auto start = free_start(starts, profile.size, taken);
  if (!start || !std::ranges::count(profile.starts, *start) || same >= profile.instances ||
      slices > table.slices) {
    return refused("no room for " + profile.name + " beside what is laid out already");
  }
  const Placement placement{*start, profile.size};
  return GpuInstance{.id = wanted.id.value_or(instance_id(table, placement)),
                     .profile = profile.name,
                     .placement = placement};
}

Status check_known(const Gpu& gpu, const std::vector<WantedInstance>& wanted) {
  if (gpu.model.mig.empty()) return refused(gpu.model.name + " has no MIG");
  for (const WantedInstance& each : wanted) {
    if (find_profile(gpu.model.mig, each.profile) != nullptr) continue;
    return refused("'" + each.profile + "' is no profile of " + gpu.model.name + ", which has " +
                   known_profiles(gpu.model.mig));
  }
  return Done{};
}

// Given places first, then the largest: what a person lists should fit if it
// can, whatever the order.
std::vector<std::size_t> placing_order(const Gpu& gpu, const std::vector<WantedInstance>& wanted) {
  return largest_first(wanted.size(), [&](std::size_t i) {
    const GpuInstanceProfile& profile = *find_profile(gpu.model.mig, wanted[i].profile);
    return std::pair(wanted[i].start.has_value(), profile.slices * 16 + profile.size);
  });
}

std::vector<ComputeInstance*> all_compute(std::vector<GpuInstance>& instances) {
  std::vector<ComputeInstance*> all;
  for (GpuInstance& instance : instances) {
    for (ComputeInstance& compute : instance.compute) all.push_back(&compute);
  }
  return all;
}

// Numbers the devices that have no index yet with those that are free.
Status number_devices(std::vector<GpuInstance>& instances) {
  std::set<unsigned> taken;
  for (const ComputeInstance* compute : all_compute(instances)) {
    if (compute->index != kNoIndex && !taken.insert(compute->index).second) {
      return refused("MIG index " + std::to_string(compute->index) + " is given twice");
    }
  }
  unsigned next = 0;
  for (ComputeInstance* compute : all_compute(instances)) {
    while (taken.contains(next)) ++next;
    if (compute->index == kNoIndex) compute->index = next++;
  }
  return Done{};
}

}  // namespace

Result<WantedInstance> parse_wanted(std::string_view text) {
  const std::vector<std::string> parts = split(trim(text), ':');
  WantedInstance wanted{.profile = std::string(trim(parts.front()))};
  if (parts.size() == 1) return wanted;
  wanted.compute.emplace();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = trim(parts[i]);
    if (part.empty()) continue;  // "3g.40gb:" has none
    const std::size_t end = part.find('c');
    const auto slices = parse_number<unsigned>(part.substr(0, end));
    if (end == std::string_view::npos || !slices || *slices == 0) {
      return refused("'" + parts[i] + "' is no compute instance; write 1c, 2c, ...");
    }
    wanted.compute->push_back({.slices = *slices});
  }
  return wanted;
}

Result<std::vector<WantedInstance>> parse_layout(std::string_view text) {
  std::vector<WantedInstance> layout;
  for (const std::string& part : split(text, ',')) {
    if (trim(part).empty()) continue;
    Result<WantedInstance> wanted = parse_wanted(part);
    if (!wanted) return wanted.error();
    layout.push_back(std::move(*wanted));
  }
  return layout;
}

Result<std::vector<GpuInstance>> lay_out(const Gpu& gpu, const Driver& driver,
                                         const std::vector<WantedInstance>& wanted) {
  if (Status known = check_known(gpu, wanted); !known) return known.error();
  std::vector<GpuInstance> instances;
  for (const std::size_t i : placing_order(gpu, wanted)) {
    Result<GpuInstance> placed = place_instance(gpu, wanted[i], instances);
    if (!placed) return placed.error();
    if (std::ranges::count(instances, placed->id, &GpuInstance::id) > 0) {
      return refused("GPU instance id " + std::to_string(placed->id) + " is given twice");
    }
    if (Status filled = fill_instance(gpu, driver, wanted[i], *placed); !filled) {
      return filled.error();
    }
    instances.push_back(std::move(*placed));
  }
  std::ranges::sort(instances, {}, &GpuInstance::id);
  if (Status numbered = number_devices(instances); !numbered) return numbered.error();
  return instances;
}

}  // namespace tranche::testbed::sim
