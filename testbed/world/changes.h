// SPDX-License-Identifier: Apache-2.0
//
// What can happen to a world. A Change is a pure function from one world to the
// next, or an error that says why it cannot happen there:
//
//   node.apply(raise_xid(3, {.number = 79}));
//
// Events are for the sessions that registered before they were raised.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "testbed/world/mig_layout.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

using Change = std::function<Result<World>(World)>;

// One after the other; the first error ends it.
Change all_of(std::vector<Change> changes);

// A GPU by its place in the world, its uuid or its PCI address.
class GpuRef {
 public:
  // Implicit, so that a call reads raise_xid(3, …).
  // NOLINTBEGIN(google-explicit-constructor)
  GpuRef(unsigned position) : what_(position) {}
  GpuRef(GpuUuid uuid) : what_(std::move(uuid)) {}
  GpuRef(PciAddress pci) : what_(pci) {}
  // NOLINTEND(google-explicit-constructor)

  Result<std::size_t> position_in(const World& world) const;

 private:
  std::variant<unsigned, GpuUuid, PciAddress> what_;
};

// "3", "GPU-…" or "0000:1b:00.0".
Result<GpuRef> parse_gpu_ref(std::string_view text);

// Any change of one GPU, for what has no name of its own here.
Change edit_gpu(GpuRef gpu, std::function<void(Gpu&)> edit);

struct Xid {
  // Where it can be seen. A driver tells some (79, 119, 120) in the kernel's
  // log only; kUsual does as it would.
  enum class Route { kUsual, kEvent, kLog, kBoth };

  unsigned number = 0;
  std::optional<unsigned> gpu_instance = std::nullopt;  // none: of the whole GPU
  std::optional<unsigned> compute_instance = std::nullopt;
  Route route = Route::kUsual;
  unsigned pid = 0;  // 0: '<unknown>'
  std::string process;
  std::string text;  // empty: what the driver says of this number
};
Change raise_xid(GpuRef gpu, Xid xid);

// Any other event: 0x1 single-bit ECC, 0x2 double-bit ECC, 0x4000 unavailable…
Change raise_event(GpuRef gpu, std::uint64_t type, std::uint64_t data = 0);

// A line in the kernel's log.
Change log_line(std::string text);

// Every call on it fails; it is still counted.
Change lose(GpuRef gpu);
// Gone from the enumeration; the kernel's log says so.
Change fall_off(GpuRef gpu);
// The driver answers who it is from memory; every read of the card says that it
// is lost, also as the result of a single field value.
Change make_unreachable(GpuRef gpu);
// It answers who it is, but does no work until a reset.
Change require_reset(GpuRef gpu);
// Present and well again, counters restarted. Sessions from before still fail.
Change come_back(GpuRef gpu);
// As come_back, for a GPU that may never have been away: what was on it is gone.
Change reset(GpuRef gpu);

// The kernel takes the GPU from the driver and gives it back: as reset, and seen in
// /sys.
Change rebind(GpuRef gpu);
// The last client has closed the driver: counters of GPUs without persistence mode
// restart, unless a process runs on them.
Change close_driver();

// One uncorrectable memory error: counters, the event, XID 48, and a driver that asks
// for a reset.
Change uncorrectable_ecc(GpuRef gpu);
// 0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset, …
Change set_recovery_action(GpuRef gpu, unsigned action);

// Turns MIG on where it is off, and lays the GPU out so.
Change set_mig(GpuRef gpu, std::vector<WantedInstance> layout);
// Takes one MIG device away; the others keep their indexes.
Change remove_mig_device(GpuRef gpu, unsigned index);
Change mig_off(GpuRef gpu);

Change plug(Gpu gpu);
Change unplug(GpuRef gpu);
// Another card in the same slot: the PCI address, the minor and what belongs to
// the slot stay. Uuid and serial are the new card's, its counters are fresh and
// MIG is off. `model` is its key; empty: the same model as before.
Change swap_card(GpuRef gpu, GpuUuid uuid, std::string model = "");
// A reset after which the GPU has another memory size, as when ECC is switched.
// MIG profiles get their share of it, and their names with it.
Change set_memory_size(GpuRef gpu, std::uint64_t mib);

Change unload_driver();
Change load_driver();
// The kernel module stays at `version` while the library is another one.
Change set_module_version(std::string version);
// A new boot: everything present, counters restarted, `boot_id` new (empty:
// made from the old one).
Change reboot(std::string boot_id = "");

// `times`: so many calls of each process do not return, later ones do.
Change block_call(std::string call, std::optional<GpuRef> gpu = std::nullopt,
                  std::optional<unsigned> times = std::nullopt);
struct Failure {
  std::string call;
  int code = 0;
  std::optional<unsigned> times = std::nullopt;  // in each process; none: always
  std::optional<GpuRef> gpu = std::nullopt;
  // Only the result of this field of nvmlDeviceGetFieldValues.
  std::optional<unsigned> field = std::nullopt;
};
Change fail_call(Failure failure);
// Takes back blocks and failures: of this call, or of all when it is empty.
Change clear_faults(std::string call = "");

Change set_processes(GpuRef gpu, std::vector<Process> processes);
Change set_fabric(GpuRef gpu, Fabric fabric);
Change set_link(GpuRef gpu, unsigned link, bool active);

}  // namespace tranche::testbed::sim
