// SPDX-License-Identifier: Apache-2.0
//
// Random events of the GPUs of a simulated node, drawn from a seed: cards fall off the bus, come
// back, are swapped, unplugged and plugged in, get MIG devices, and driver calls fail.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "node/driver/nvml/abi.h"
#include "testbed/world/changes.h"
#include "testbed/world/defaults.h"
#include "testbed/world/uuid.h"

namespace tranche::node::nvml {

namespace sim = testbed::sim;

// Only the random life raises XIDs of this number.
inline constexpr unsigned kLifeXid = 119;

class NodeLife {
 public:
  explicit NodeLife(std::uint64_t seed) : random_(seed) {}

  sim::World first_world() {
    sim::World world;
    world.boot_id = "life";
    for (unsigned slot = 0; slot < 4; ++slot) {
      sim::Gpu gpu = new_card();
      gpu.pci = {.bus = kSlots.at(slot)};
      gpu.minor = slot;
      world.gpus.push_back(std::move(gpu));
      cut(world);
    }
    fail_a_call(world);
    return world;
  }

  // One event, or a few before the next scan. False: it cannot happen now.
  bool happen(sim::World& world) {
    xid_on_.reset();
    // Old events make the world's file large and slow to read.
    world.events.clear();
    world.kernel_log.clear();
    using Happening = bool (NodeLife::*)(sim::World&);
    static constexpr std::array<Happening, 18> kAll = {
        &NodeLife::unreachable,   &NodeLife::rebind,      &NodeLife::leave_the_bus,
        &NodeLife::come_back,     &NodeLife::reset,       &NodeLife::swap,
        &NodeLife::unplug,        &NodeLife::plug,        &NodeLife::cut,
        &NodeLife::cut,           &NodeLife::cut,         &NodeLife::recut,
        &NodeLife::recut,         &NodeLife::recut,       &NodeLife::mig_off,
        &NodeLife::resize_memory, &NodeLife::fail_a_call, &NodeLife::reload_driver,
    };
    bool happened = false;
    const unsigned count = 1 + below(3);
    for (unsigned i = 0; i < count; ++i) {
      if (below(3) == 0) happened = apply(world, "clear", sim::clear_faults()) || happened;
      happened = (this->*kAll.at(below(kAll.size())))(world) || happened;
    }
    // Last, so that it concerns the present card.
    if (below(3) == 0) happened = raise_xid(world) || happened;
    return happened;
  }

  // The GPU that an XID was raised on in the last step.
  const std::optional<GpuUuid>& xid_on() const { return xid_on_; }
  const std::string& history() const { return history_; }
  unsigned below(std::size_t end) {
    return static_cast<unsigned>(std::uniform_int_distribution<std::size_t>(0, end - 1)(random_));
  }

 private:
  static constexpr std::array<unsigned, 6> kSlots = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60};

  std::string any_model() {
    static constexpr std::array<const char*, 5> kModels = {"a100-sxm4-40gb", "a30", "h100-sxm",
                                                           "h100-sxm", "t4"};
    return kModels.at(below(kModels.size()));
  }
  GpuUuid new_uuid() { return GpuUuid("GPU-" + sim::uuid_from(fmt::format("life {}", random_()))); }
  sim::Gpu new_card() {
    const std::string key = any_model();
    sim::Gpu gpu = sim::default_gpu(key, *sim::find_model(key), 0);
    gpu.uuid = new_uuid();
    gpu.fabric = {};
    gpu.persistence = below(2) == 0;
    return gpu;
  }

  bool apply(sim::World& world, const std::string& what, const sim::Change& change) {
    Result<sim::World> changed = change(world);
    if (!changed) return false;
    world = *std::move(changed);
    history_ += what + "\n";
    return true;
  }
  // A GPU of the node and its name for the history; if wanted and possible one with MIG devices.
  std::pair<sim::Gpu, std::string> any(const sim::World& world, bool is_cut = false) {
    std::vector<sim::Gpu> cut = world.gpus;
    std::erase_if(cut, [](const sim::Gpu& gpu) { return gpu.mig.instances.empty(); });
    const std::vector<sim::Gpu>& from = is_cut && !cut.empty() ? cut : world.gpus;
    const sim::Gpu& gpu = from.at(below(from.size()));
    return {gpu, fmt::format("{} at {}", gpu.uuid.text.substr(0, 12), to_string(gpu.pci))};
  }

  bool leave_the_bus(sim::World& world) {
    const auto [gpu, name] = any(world);
    if (below(2) == 0) return apply(world, "fall off " + name, sim::fall_off(gpu.uuid));
    return apply(world, "lose " + name, sim::lose(gpu.uuid));
  }
  bool come_back(sim::World& world) {
    std::vector<sim::Change> all;
    for (const sim::Gpu& gpu : world.gpus) {
      if (gpu.state != sim::Gpu::State::kPresent) all.push_back(sim::come_back(gpu.uuid));
    }
    return !all.empty() && apply(world, "all come back", sim::all_of(std::move(all)));
  }
  bool reset(sim::World& world) {
    const auto [gpu, name] = any(world);
    return apply(world, "reset " + name, sim::reset(gpu.uuid));
  }

  bool unreachable(sim::World& world) {
    const auto [gpu, name] = any(world);
    return gpu.state == sim::Gpu::State::kPresent &&
           apply(world, "unreachable " + name, sim::make_unreachable(gpu.uuid));
  }
  bool rebind(sim::World& world) {
    const auto [gpu, name] = any(world);
    return apply(world, "rebind " + name, sim::rebind(gpu.uuid));
  }

  bool swap(sim::World& world) {
    const auto [gpu, name] = any(world);
    return apply(world, "swap " + name,
                 sim::swap_card(gpu.uuid, new_uuid(), below(2) == 0 ? any_model() : ""));
  }
  bool unplug(sim::World& world) {
    if (world.gpus.size() < 4) return false;
    auto [gpu, name] = any(world);
    if (!apply(world, "unplug " + name, sim::unplug(gpu.uuid))) return false;
    gpu.mig = {};
    gpu.state = sim::Gpu::State::kPresent;
    ++gpu.generation;
    drawer_.push_back(std::move(gpu));
    return true;
  }
  // A new card, or one from another slot; the minor is a free one.
  bool plug(sim::World& world) {
    const std::vector<sim::Gpu> there = world.gpus;
    sim::Gpu gpu = new_card();
    if (!drawer_.empty() && below(2) == 0) gpu = drawer_.back();
    gpu.pci = {.bus = kSlots.at(below(kSlots.size()))};
    if (std::ranges::count(there, gpu.pci, &sim::Gpu::pci) > 0) return swap(world);
    gpu.minor = 0;
    while (std::ranges::count(there, gpu.minor, &sim::Gpu::minor) > 0) ++gpu.minor;
    const std::string name =
        fmt::format("{} at {}", gpu.uuid.text.substr(0, 12), to_string(gpu.pci));
    if (!apply(world, "plug " + name, sim::plug(gpu))) return false;
    std::erase_if(drawer_, [&](const sim::Gpu& other) { return other.uuid == gpu.uuid; });
    return true;
  }

  bool cut(sim::World& world) {
    const auto [gpu, name] = any(world);
    const std::vector<sim::GpuInstanceProfile>& profiles = gpu.model.mig.profiles;
    if (profiles.empty()) return false;
    std::vector<sim::WantedInstance> layout;
    std::string text;
    const unsigned count = 1 + below(3);
    for (unsigned i = 0; i < count; ++i) {
      layout.push_back({.profile = profiles.at(below(profiles.size())).name});
      text += " " + layout.back().profile;
    }
    return apply(world, fmt::format("cut {}{}", name, text), sim::set_mig(gpu.uuid, layout));
  }
  // Gives one instance another profile, with the same ids.
  bool recut(sim::World& world) {
    const auto [gpu, name] = any(world, true);
    if (gpu.mig.instances.empty()) return false;
    const unsigned chosen = below(gpu.mig.instances.size());
    std::vector<sim::WantedInstance> layout = layout_of(gpu);
    layout[chosen].profile = other_profile(gpu, gpu.mig.instances[chosen]);
    return apply(world, fmt::format("recut {} {}", name, layout[chosen].profile),
                 sim::set_mig(gpu.uuid, layout));
  }
  static std::vector<sim::WantedInstance> layout_of(const sim::Gpu& gpu) {
    std::vector<sim::WantedInstance> layout;
    for (const sim::GpuInstance& instance : gpu.mig.instances) {
      layout.push_back(
          {.profile = instance.profile, .id = instance.id, .start = instance.placement.start});
    }
    return layout;
  }
  std::string other_profile(const sim::Gpu& gpu, const sim::GpuInstance& instance) {
    std::vector<std::string> fitting;
    for (const sim::GpuInstanceProfile& profile : gpu.model.mig.profiles) {
      if (profile.name != instance.profile && profile.size == instance.placement.size &&
          std::ranges::count(profile.starts, instance.placement.start) > 0) {
        fitting.push_back(profile.name);
      }
    }
    return fitting.empty() ? instance.profile : fitting.at(below(fitting.size()));
  }
  bool mig_off(sim::World& world) {
    const auto [gpu, name] = any(world);
    return apply(world, "MIG off " + name, sim::mig_off(gpu.uuid));
  }
  bool resize_memory(sim::World& world) {
    const auto [gpu, name] = any(world);
    const std::uint64_t full = sim::find_model(gpu.model_key)->memory_mib;
    const std::uint64_t mib = gpu.model.memory_mib == full ? full * 3 / 4 : full;
    return apply(world, fmt::format("memory {} {}", name, mib),
                 sim::set_memory_size(gpu.uuid, mib));
  }

  bool fail_a_call(sim::World& world) {
    static constexpr std::array<const char*, 7> kCalls = {"nvmlDeviceGetUUID",
                                                          "nvmlDeviceGetName",
                                                          "nvmlDeviceGetAttributes",
                                                          "nvmlDeviceGetMinorNumber",
                                                          "nvmlDeviceGetMigMode",
                                                          "nvmlDeviceGetGpuInstanceId",
                                                          "nvmlDeviceGetMaxMigDeviceCount"};
    const auto [gpu, name] = any(world, below(2) == 0);
    const std::string call =
        below(2) == 0 ? "nvmlDeviceGetMemoryInfo" : kCalls.at(below(kCalls.size()));
    const bool once = below(3) > 0;
    return apply(world, fmt::format("{} fails {} {}", call, once ? "once" : "for good", name),
                 sim::fail_call({.call = call,
                                 .code = abi::kUnknown,
                                 .times = once ? std::optional(1U) : std::nullopt,
                                 .gpu = sim::GpuRef(gpu.uuid)}));
  }
  // The reloaded driver may assign other minors. The GPUs get the same MIG devices again, as from
  // NVIDIA's MIG manager.
  bool reload_driver(sim::World& world) {
    std::vector<sim::Change> all = {sim::unload_driver()};
    const std::vector<sim::Gpu> gpus = world.gpus;
    for (unsigned i = 0; i < gpus.size(); ++i) {
      const auto minor = static_cast<unsigned>(gpus.size() - 1 - i);
      all.push_back(sim::edit_gpu(gpus[i].uuid, [minor](sim::Gpu& gpu) { gpu.minor = minor; }));
    }
    all.push_back(sim::load_driver());
    for (const sim::Gpu& gpu : gpus) {
      if (!gpu.mig.instances.empty()) all.push_back(sim::set_mig(gpu.uuid, layout_of(gpu)));
    }
    return apply(world, "reload the driver", sim::all_of(std::move(all)));
  }
  bool raise_xid(sim::World& world) {
    const auto [gpu, name] = any(world);
    const bool is_there = gpu.state == sim::Gpu::State::kPresent;
    if (!is_there ||
        !apply(world, "XID on " + name, sim::raise_xid(gpu.uuid, {.number = kLifeXid}))) {
      return false;
    }
    xid_on_ = gpu.uuid;
    return true;
  }

  std::mt19937_64 random_;
  std::vector<sim::Gpu> drawer_;
  std::optional<GpuUuid> xid_on_;
  std::string history_;
};

}  // namespace tranche::node::nvml
