// SPDX-License-Identifier: Apache-2.0
//
// A simulated node as one value: its driver, its GPUs, what is wrong with them
// and what has happened. The simulated driver library answers from a World; a
// fault is a change from one World to the next (changes.h).
//
// Everything here is resolved: what a world file leaves out has been filled in
// from the model table by the time a World exists (parse.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/gpu.h"
#include "core/gpu/pci_address.h"
#include "testbed/world/model.h"

namespace tranche::testbed::sim {

struct Driver {
  std::string version = "580.105.08";
  // Of the kernel module that is loaded. Where it differs, the library refuses
  // to start: a package was upgraded and the node not rebooted.
  std::string module_version = "580.105.08";
  unsigned cuda_major = 13;
  unsigned cuda_minor = 0;
  bool open_modules = true;
  bool loaded = true;

  bool operator==(const Driver&) const = default;
};

// The number before the first dot: 580.
unsigned branch_of(const Driver& driver);

struct Placement {
  unsigned start = 0;
  unsigned size = 0;

  bool operator==(const Placement&) const = default;
};

struct ComputeInstance {
  unsigned id = 0;
  unsigned profile = 0;  // id of a ComputeInstanceProfile
  Placement placement;   // in slices of the GPU instance
  MigUuid uuid;
  unsigned index = 0;  // among the GPU's MIG devices; gaps are allowed

  bool operator==(const ComputeInstance&) const = default;
};

struct GpuInstance {
  unsigned id = 0;
  std::string profile;  // name of a GpuInstanceProfile
  Placement placement;  // in memory units
  std::vector<ComputeInstance> compute;

  bool operator==(const GpuInstance&) const = default;
};

struct Mig {
  bool enabled = false;
  bool pending = false;                // after the next reset
  std::vector<GpuInstance> instances;  // sorted by id

  bool operator==(const Mig&) const = default;
};

// One NVLink of a GPU, by what is at its other end.
struct NvLink {
  enum class Peer { kGpu, kSwitch };
  Peer peer = Peer::kGpu;
  std::optional<PciAddress> pci;  // none: a switch that is not on this PCI bus
  bool active = true;

  bool operator==(const NvLink&) const = default;
};

// Where the GPU hangs in the PCIe tree. Two GPUs with the same name for a thing
// share it; an empty name is shared with nobody.
struct Place {
  std::string board;
  std::string pcie_switch;
  std::string upstream;  // the switch above that one
  std::string bridge;    // the CPU's host bridge

  bool operator==(const Place&) const = default;
};

struct Fabric {
  enum class State { kNotSupported, kNotStarted, kInProgress, kCompleted };
  State state = State::kNotSupported;
  int status = 0;  // the driver's code, once completed
  unsigned clique = 0;
  std::string cluster = "00000000-0000-0000-0000-000000000000";
  unsigned health_mask = 0;
  unsigned health_summary = 0;

  bool operator==(const Fabric&) const = default;
};

struct Process {
  enum class Kind { kCompute, kGraphics, kMps };
  unsigned pid = 0;
  std::string name;
  Kind kind = Kind::kCompute;
  std::uint64_t memory_mib = 0;
  unsigned sm = 0;      // percent, over the last second
  unsigned memory = 0;  // percent of the memory's bandwidth
  unsigned encoder = 0;
  unsigned decoder = 0;
  std::optional<unsigned> gpu_instance;
  std::optional<unsigned> compute_instance;

  bool operator==(const Process&) const = default;
};

struct EccCounts {
  std::uint64_t corrected = 0;
  std::uint64_t uncorrected = 0;

  bool operator==(const EccCounts&) const = default;
};

// Counters and states that tell how the GPU is.
struct Vitals {
  std::uint64_t energy_mj = 86'400'000;  // since the driver took the GPU
  EccCounts ecc_volatile;                // since then, too
  EccCounts ecc_aggregate;               // of its whole life
  unsigned pcie_replays = 0;
  unsigned remaps_correctable = 0;
  unsigned remaps_uncorrectable = 0;
  bool remap_pending = false;
  bool remap_failed = false;
  bool retired_pending = false;
  bool channel_repair_pending = false;  // units that are retired at the next reset
  bool tpc_repair_pending = false;
  unsigned recovery_action = 0;  // 0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset
  bool inforom_valid = true;
  unsigned temperature_c = 34;
  unsigned power_mw = 70'000;
  unsigned gpu_utilization = 0;  // percent; with processes, at least theirs
  unsigned memory_utilization = 0;

  bool operator==(const Vitals&) const = default;
};

// A memory limit set through the driver (R615 and later).
struct MemoryLimit {
  std::string cgroup;
  std::uint64_t soft_bytes = 0;
  std::uint64_t hard_bytes = 0;
  std::uint64_t used_bytes = 0;

  bool operator==(const MemoryLimit&) const = default;
};

struct Gpu {
  enum class State {
    kPresent,
    kLost,           // enumerated, but every call says so
    kUnreachable,    // what the driver remembers is answered, every read of the card fails
    kOffBus,         // no longer enumerated; its PCI folder is still there
    kResetRequired,  // tells who it is, does no work
  };

  std::string model_key;  // what it was made from; empty: given in full
  Model model;
  GpuUuid uuid;
  std::string serial;
  PciAddress pci;
  unsigned minor = 0;
  int numa_node = -1;
  std::string cpus;                          // "0-23,48-71"; empty: not told
  std::optional<unsigned> memory_numa_node;  // where the GPU's memory is one
  unsigned module_id = 0;
  unsigned drm_card = 0;
  unsigned drm_render = 0;  // 0: no DRM nodes
  bool persistence = true;
  unsigned compute_mode = 0;
  unsigned virtualization = 0;  // 0 none, 1 pass-through, 2 virtual
  VgpuHost vgpu_host;           // of a virtual one
  Place place;
  std::vector<NvLink> links;
  Fabric fabric;
  Mig mig;
  std::vector<Process> processes;
  std::vector<MemoryLimit> memory_limits;
  Vitals vitals;
  State state = State::kPresent;
  unsigned generation = 0;  // counts resets and loads; a session sees only one
  unsigned bindings = 0;    // counts how often the kernel gave it to the driver again

  bool operator==(const Gpu&) const = default;
};

enum class PcieLevel { kBoard, kSwitch, kSwitches, kBridge, kNode, kSystem };

// What lies between two GPUs where their places do not tell.
struct PairLevel {
  PciAddress a;
  PciAddress b;
  PcieLevel level = PcieLevel::kSystem;

  bool operator==(const PairLevel&) const = default;
};

// Other drivers' device nodes that a node may have.
struct Extras {
  unsigned nvidia_fs = 0;              // GPUDirect Storage: how many nodes
  bool gdrdrv = false;                 // GDRCopy
  unsigned infiniband = 0;             // verbs devices
  unsigned imex_channels = 0;          // made, of the 2048 possible
  std::vector<PciAddress> nvswitches;  // those this PCI bus has

  bool operator==(const Extras&) const = default;
};

// Something a session that waits for events is told.
struct Event {
  std::uint64_t number = 0;
  GpuUuid gpu;
  std::uint64_t type = 0;
  std::uint64_t data = 0;
  std::optional<unsigned> gpu_instance;
  std::optional<unsigned> compute_instance;

  bool operator==(const Event&) const = default;
};

struct LogRecord {
  std::uint64_t number = 0;
  std::string text;

  bool operator==(const LogRecord&) const = default;
};

// The call whose fields can fail one by one.
inline constexpr const char* kFieldCall = "nvmlDeviceGetFieldValues";

// A call that does not do what it should.
struct CallFault {
  std::uint64_t number = 0;
  // A function's name; without _vN it stands for all its versions.
  std::string call;
  std::optional<GpuUuid> gpu;     // none: for all, and for calls on no GPU
  std::optional<unsigned> field;  // of nvmlDeviceGetFieldValues: the result of this one alone
  bool blocks = false;            // until the fault is gone
  int code = 0;                   // what it answers, where it does not block
  std::optional<unsigned> times;  // in each process; none: always

  bool operator==(const CallFault&) const = default;
};

struct World {
  Driver driver;
  std::string boot_id;
  std::vector<Gpu> gpus;  // in the order of their PCI addresses
  std::vector<PairLevel> pair_levels;
  Extras extras;
  std::vector<CallFault> faults;
  std::vector<Event> events;          // the latest; older ones are dropped
  std::vector<LogRecord> kernel_log;  // likewise
  std::uint64_t next_number = 1;      // for events, log records and faults

  bool operator==(const World&) const = default;
};

// The GPU with this uuid, or null.
const Gpu* find_gpu(const World& world, const GpuUuid& uuid);

// The MIG devices of a GPU: its compute instances with the GPU instances they
// lie in, in their order. Points into the GPU.
struct MigDeviceView {
  const GpuInstance* instance;
  const ComputeInstance* compute;
};
std::vector<MigDeviceView> list_mig_devices(const Gpu& gpu);

// The driver's name for a MIG device's kind: "3g.40gb", "1c.3g.40gb".
std::string profile_name(const Gpu& gpu, const GpuInstance& instance,
                         const ComputeInstance& compute);

PcieLevel level_between(const World& world, const Gpu& a, const Gpu& b);

// Minors of /dev/nvidia-caps/nvidia-cap<N>, by the GPU's minor.
unsigned gpu_instance_cap(unsigned gpu_minor, unsigned gpu_instance);
unsigned compute_instance_cap(unsigned gpu_minor, unsigned gpu_instance, unsigned compute_instance);

}  // namespace tranche::testbed::sim
