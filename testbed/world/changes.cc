// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/changes.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "node/driver/nvml/abi.h"
#include "testbed/world/record.h"
#include "testbed/world/restart.h"
#include "testbed/world/uuid.h"

namespace tranche::testbed::sim {
namespace {

namespace abi = nvml::abi;

Error refused(const std::string& message) { return {ErrorCode::kInvalidArgument, message}; }

// A change of one GPU that may record things in its world.
Change on_gpu(GpuRef ref, std::function<Status(World&, Gpu&)> edit) {
  return [ref = std::move(ref), edit = std::move(edit)](World world) -> Result<World> {
    const Result<std::size_t> position = ref.position_in(world);
    if (!position) return position.error();
    // Edited apart from the world, which the edit may write records into.
    Gpu gpu = world.gpus[*position];
    if (Status edited = edit(world, gpu); !edited) return edited.error();
    world.gpus[*position] = std::move(gpu);
    return world;
  };
}

void record_mig_change(World& world, const Gpu& gpu) {
  add_event(world, {.gpu = gpu.uuid, .type = abi::kEventMigConfigChange});
}

// Removes the MIG device, and a GPU instance that is left with none. How many.
std::size_t remove_compute(std::vector<GpuInstance>& instances, unsigned index) {
  std::size_t removed = 0;
  for (GpuInstance& instance : instances) {
    removed += std::erase_if(instance.compute,
                             [&](const ComputeInstance& each) { return each.index == index; });
  }
  if (removed > 0) {
    std::erase_if(instances, [](const GpuInstance& each) { return each.compute.empty(); });
  }
  return removed;
}

// Serials are 13 digits.
std::string serial_from(std::string_view seed) {
  std::uint64_t number = 0;
  for (const char c : seed) number = number * 31 + static_cast<unsigned char>(c);
  constexpr std::uint64_t kFirst = 1'000'000'000'000ULL;
  return std::to_string(kFirst + number % (9 * kFirst));
}

Change set_state(GpuRef gpu, Gpu::State state) {
  return on_gpu(std::move(gpu), [state](World&, Gpu& each) -> Status {
    each.state = state;
    return Done{};
  });
}

}  // namespace

Change all_of(std::vector<Change> changes) {
  return [changes = std::move(changes)](World world) -> Result<World> {
    for (const Change& change : changes) {
      Result<World> next = change(std::move(world));
      if (!next) return next;
      world = std::move(*next);
    }
    return world;
  };
}

Result<std::size_t> GpuRef::position_in(const World& world) const {
  for (std::size_t i = 0; i < world.gpus.size(); ++i) {
    const Gpu& gpu = world.gpus[i];
    const auto* position = std::get_if<unsigned>(&what_);
    const auto* uuid = std::get_if<GpuUuid>(&what_);
    const auto* pci = std::get_if<PciAddress>(&what_);
    if ((position != nullptr && *position == i) || (uuid != nullptr && *uuid == gpu.uuid) ||
        (pci != nullptr && *pci == gpu.pci)) {
      return i;
    }
  }
  return Error{ErrorCode::kNotFound, "the world has no such GPU; it has " +
                                         std::to_string(world.gpus.size()) + ", counted from 0"};
}

Result<GpuRef> parse_gpu_ref(std::string_view text) {
  if (const auto position = parse_number<unsigned>(text)) return GpuRef(*position);
  if (text.starts_with("GPU-")) return GpuRef(GpuUuid(std::string(text)));
  if (const auto pci = parse_pci_address(text)) return GpuRef(*pci);
  return refused("'" + std::string(text) +
                 "' is no GPU: give its place (3), its uuid (GPU-…) or its PCI address");
}

Change edit_gpu(GpuRef gpu, std::function<void(Gpu&)> edit) {
  return on_gpu(std::move(gpu), [edit = std::move(edit)](World&, Gpu& each) -> Status {
    edit(each);
    return Done{};
  });
}

Change raise_xid(GpuRef gpu, Xid xid) {
  return on_gpu(std::move(gpu), [xid = std::move(xid)](World& world, Gpu& each) -> Status {
    record_xid(world, each, xid);
    return Done{};
  });
}

Change raise_event(GpuRef gpu, std::uint64_t type, std::uint64_t data) {
  return on_gpu(std::move(gpu), [type, data](World& world, Gpu& each) -> Status {
    add_event(world, {.gpu = each.uuid, .type = type, .data = data});
    return Done{};
  });
}

Change log_line(std::string text) {
  return [text = std::move(text)](World world) -> Result<World> {
    add_log(world, text);
    return world;
  };
}

Change lose(GpuRef gpu) { return set_state(std::move(gpu), Gpu::State::kLost); }

Change make_unreachable(GpuRef gpu) { return set_state(std::move(gpu), Gpu::State::kUnreachable); }

Change fall_off(GpuRef gpu) {
  return on_gpu(std::move(gpu), [](World& world, Gpu& each) -> Status {
    each.state = Gpu::State::kOffBus;
    record_xid(world, each, {.number = 79});
    return Done{};
  });
}

Change require_reset(GpuRef gpu) {
  return on_gpu(std::move(gpu), [](World& world, Gpu& each) -> Status {
    each.state = Gpu::State::kResetRequired;
    record_recovery_action(world, each, abi::kRecoveryGpuReset);
    return Done{};
  });
}

Change come_back(GpuRef gpu) {
  return on_gpu(std::move(gpu), [](World& world, Gpu& each) -> Status {
    restart(world, each);
    return Done{};
  });
}

Change reset(GpuRef gpu) {
  return on_gpu(std::move(gpu), [](World& world, Gpu& each) -> Status {
    if (each.state == Gpu::State::kOffBus) {
      return refused("a GPU that is off the bus cannot be reset");
    }
    restart(world, each);
    return Done{};
  });
}

Change uncorrectable_ecc(GpuRef gpu) {
  return on_gpu(std::move(gpu), [](World& world, Gpu& each) -> Status {
    if (!each.model.ecc) return refused(each.model.name + " has no ECC");
    ++each.vitals.ecc_volatile.uncorrected;
    ++each.vitals.ecc_aggregate.uncorrected;
    if (each.model.remaps_rows) {
      each.vitals.remap_pending = true;
    } else {
      each.vitals.retired_pending = true;
    }
    add_event(world, {.gpu = each.uuid, .type = abi::kEventDoubleBitEcc});
    record_xid(world, each, {.number = 48});
    record_recovery_action(world, each, abi::kRecoveryGpuReset);
    return Done{};
  });
}

Change set_recovery_action(GpuRef gpu, unsigned action) {
  return on_gpu(std::move(gpu), [action](World& world, Gpu& each) -> Status {
    record_recovery_action(world, each, action);
    return Done{};
  });
}

Change set_mig(GpuRef gpu, std::vector<WantedInstance> layout) {
  return on_gpu(std::move(gpu), [layout = std::move(layout)](World& world, Gpu& each) -> Status {
    Result<std::vector<GpuInstance>> instances = lay_out(each, world.driver, layout);
    if (!instances) return instances.error();
    each.mig = {.enabled = true, .pending = true, .instances = std::move(*instances)};
    record_mig_change(world, each);
    return Done{};
  });
}

Change remove_mig_device(GpuRef gpu, unsigned index) {
  return on_gpu(std::move(gpu), [index](World& world, Gpu& each) -> Status {
    if (remove_compute(each.mig.instances, index) == 0) {
      return refused("the GPU has no MIG device " + std::to_string(index));
    }
    record_mig_change(world, each);
    return Done{};
  });
}

Change mig_off(GpuRef gpu) {
  return on_gpu(std::move(gpu), [](World& world, Gpu& each) -> Status {
    if (each.model.mig.empty()) return refused(each.model.name + " has no MIG");
    each.mig = {};
    record_mig_change(world, each);
    return Done{};
  });
}

Change plug(Gpu gpu) {
  return [gpu = std::move(gpu)](World world) -> Result<World> {
    const auto taken = std::ranges::find_if(world.gpus, [&](const Gpu& other) {
      return other.uuid == gpu.uuid || other.pci == gpu.pci || other.minor == gpu.minor;
    });
    if (taken != world.gpus.end()) {
      return refused("uuid, PCI address or minor is taken by " + taken->uuid.text);
    }
    const auto place = std::ranges::upper_bound(world.gpus, gpu.pci, {}, &Gpu::pci);
    world.gpus.insert(place, gpu);
    return world;
  };
}

Change unplug(GpuRef gpu) {
  return [gpu = std::move(gpu)](World world) -> Result<World> {
    const Result<std::size_t> position = gpu.position_in(world);
    if (!position) return position.error();
    world.gpus.erase(world.gpus.begin() + static_cast<std::ptrdiff_t>(*position));
    return world;
  };
}

Change swap_card(GpuRef gpu, GpuUuid uuid, std::string model) {
  return on_gpu(
      std::move(gpu),
      [uuid = std::move(uuid), model = std::move(model)](World& world, Gpu& each) -> Status {
        if (find_gpu(world, uuid) != nullptr) {
          return refused(uuid.text + " is in the world already");
        }
        Gpu card = each;
        if (!model.empty()) {
          const std::optional<Model> known = find_model(model);
          if (!known) return refused("'" + model + "' is no known model");
          card.model_key = model;
          card.model = *known;
          if (!(card.model == each.model)) card.links.clear();
        }
        card.uuid = uuid;
        card.serial = card.model.has_serial ? serial_from(uuid.text) : "";
        card.fabric = {.state = card.model.fabric ? Fabric::State::kCompleted
                                                  : Fabric::State::kNotSupported};
        card.mig = {};
        card.processes.clear();
        card.memory_limits.clear();
        card.vitals = {};
        card.compute_mode = 0;
        card.state = Gpu::State::kPresent;
        ++card.generation;
        ++card.bindings;
        each = std::move(card);
        return Done{};
      });
}

Change set_memory_size(GpuRef gpu, std::uint64_t mib) {
  return on_gpu(std::move(gpu), [mib](World& world, Gpu& each) -> Status {
    if (each.state == Gpu::State::kOffBus) {
      return refused("a GPU that is off the bus cannot be reset");
    }
    constexpr std::uint64_t kLeastMib = 1024;
    if (mib < kLeastMib || mib <= each.model.reserved_mib || mib > (1ULL << 40)) {
      return refused(std::to_string(mib) + " MiB is no memory size of a GPU");
    }
    resize_profiles(each.model.mig, each.model.memory_mib, mib);
    each.model.memory_mib = mib;
    restart(world, each);
    return Done{};
  });
}

Change set_processes(GpuRef gpu, std::vector<Process> processes) {
  return edit_gpu(std::move(gpu),
                  [processes = std::move(processes)](Gpu& each) { each.processes = processes; });
}

Change set_fabric(GpuRef gpu, Fabric fabric) {
  return edit_gpu(std::move(gpu),
                  [fabric = std::move(fabric)](Gpu& each) { each.fabric = fabric; });
}

Change set_link(GpuRef gpu, unsigned link, bool active) {
  return on_gpu(std::move(gpu), [link, active](World&, Gpu& each) -> Status {
    if (link >= each.links.size()) return refused("the GPU has no link " + std::to_string(link));
    each.links[link].active = active;
    return Done{};
  });
}

}  // namespace tranche::testbed::sim
