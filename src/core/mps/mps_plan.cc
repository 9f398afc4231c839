// SPDX-License-Identifier: Apache-2.0
#include "core/mps/mps_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/path.h"

namespace tranche::core {
namespace {

// CUDA's default for CUDA_MPS_PIPE_DIRECTORY, so a process that lost its environment still finds
// the daemon.
constexpr const char* kDefaultPipe = "/tmp/nvidia-mps";
// Where the chart mounts the folder above an external pipe folder. The folder itself may
// appear later, disappear, or be a link.
constexpr const char* kAbovePipe = "/mps-outside";
// sun_path, with its closing zero; the longest name in a pipe folder.
constexpr std::size_t kAddressBytes = 108;
constexpr const char* kLongestName = "/pipe/control_privileged";

struct WantedDevice {
  const OfferedDevice* device;
  const Offer* offer;
  bool exclusive;
};

// Each device once, in the catalog's order. A device of two resources is exclusive if either
// demands it.
std::vector<WantedDevice> wanted_devices(const Catalog& catalog) {
  std::vector<WantedDevice> wanted;
  for (const Offer& offer : catalog.offers) {
    if (!uses_mps(offer.terms)) continue;
    const bool exclusive = offer.terms.enforcement == Enforcement::kMpsExclusive;
    for (const OfferedDevice& device : offer.devices) {
      const auto known = std::ranges::find_if(
          wanted, [&](const WantedDevice& other) { return other.device->uuid == device.uuid; });
      if (known == wanted.end()) {
        wanted.push_back({&device, &offer, exclusive});
      } else {
        known->exclusive = known->exclusive || exclusive;
      }
    }
  }
  return wanted;
}

std::optional<std::uint64_t> limit_of(const OfferedDevice& device, const LargestHeld& held) {
  const auto share = held.find(device.uuid);
  if (share != held.end() && share->second > 0) return share->second;
  // No container holds a share of it: its full size.
  return device.memory_bytes > 0 ? std::optional(device.memory_bytes) : std::nullopt;
}

void add_device(MpsDaemonPlan& daemon, const WantedDevice& wanted, const LargestHeld& held) {
  daemon.devices.push_back(wanted.device->uuid);
  daemon.limits.push_back(limit_of(*wanted.device, held));
  daemon.exclusive = daemon.exclusive || wanted.exclusive;
}

// Compares normalised paths.
bool is_below(const std::string& path, const std::string& folder) {
  const auto whole = [](const std::string& text) { return normal_path(text + "/"); };
  return whole(path).starts_with(whole(folder));
}

std::string path_problem(const std::string& folder) {
  const std::size_t length = folder.size() + std::string(kLongestName).size();
  if (length < kAddressBytes) return "";
  return fmt::format(
      "the MPS folder {} is too long for a socket in it: {} bytes with the socket's name, and {} "
      "are possible; give a shorter directory",
      folder, length, kAddressBytes - 1);
}

MpsPlan per_gpu(const std::vector<WantedDevice>& wanted, const MpsOptions& options,
                const LargestHeld& held) {
  MpsPlan plan{.directory = options.directory};
  for (const WantedDevice& one : wanted) {
    const std::string& uuid = one.device->uuid;
    MpsDaemonPlan daemon{.name = uuid,
                         .folder = fmt::format("{}/{}", options.directory, uuid),
                         .shared_memory = options.shared_memory,
                         .shared_memory_bytes = options.shared_memory_bytes};
    add_device(daemon, one, held);
    if (std::string problem = path_problem(daemon.folder); !problem.empty()) {
      plan.refused[uuid] = std::move(problem);
      continue;
    }
    plan.daemons.push_back(std::move(daemon));
  }
  std::ranges::sort(plan.daemons, {}, &MpsDaemonPlan::name);
  return plan;
}

MpsPlan per_node(const std::vector<WantedDevice>& wanted, const MpsOptions& options,
                 const LargestHeld& held) {
  MpsPlan plan{.directory = options.directory};
  MpsDaemonPlan daemon{.name = "node",
                       .folder = options.directory + "/node",
                       .shared_memory = options.shared_memory,
                       .shared_memory_bytes = options.shared_memory_bytes};
  const std::string problem = path_problem(daemon.folder);
  for (const WantedDevice& one : wanted) {
    if (!problem.empty()) {
      plan.refused[one.device->uuid] = problem;
    } else if (one.device->is_mig()) {
      // CUDA shows a process one MIG device and no more.
      plan.refused[one.device->uuid] =
          "one MPS daemon for the node cannot serve MIG devices; have one daemon a GPU";
    } else {
      add_device(daemon, one, held);
    }
  }
  if (!daemon.devices.empty()) plan.daemons.push_back(std::move(daemon));
  return plan;
}

MpsPlan outside(const std::vector<WantedDevice>& wanted, const MpsOptions& options) {
  MpsPlan plan;
  // An external daemon in a folder that looks like ours is not one that we left.
  if (!is_below(options.pipe, options.directory)) plan.directory = options.directory;
  for (const WantedDevice& one : wanted) {
    MpsWiring wiring{.pipe_directory = options.pipe,
                     // A client only connects.
                     .mounts = {{options.pipe, options.pipe, true}},
                     // Its owner decides which GPUs it has and how it numbers them.
                     .ordinal = std::nullopt};
    if (options.pipe.empty()) wiring.problem = "no MPS pipe directory is given; set --mps-pipe";
    const std::string name =
        file_name_of(parent_of(options.pipe + (options.pipe.ends_with('/') ? "" : "/")));
    plan.external[one.device->uuid] = {
        .wiring = std::move(wiring),
        .views = {{.given_by = kAbovePipe, .pipe = fmt::format("{}/{}", kAbovePipe, name)}},
        .pipe = options.pipe};
  }
  return plan;
}

MpsPlan nvidias(const std::vector<WantedDevice>& wanted, const MpsOptions& options,
                const std::string& root_here) {
  MpsPlan plan{.directory = options.directory};
  for (const WantedDevice& one : wanted) {
    const std::string& resource = one.offer->name.text;
    const std::string place = fmt::format("/{}/pipe", resource);
    ExternalMps entry;
    entry.wiring = {.pipe_directory = "/mps" + place,
                    .mounts = {{"/mps" + place, options.nvidia_root + place, true},
                               {"/dev/shm", options.nvidia_root + "/shm", false}},
                    .ordinal = one.device->driver_index.value_or(one.device->gpu_index),
                    .limits_are_the_daemons = true};
    entry.views = {{.given_by = root_here, .pipe = root_here + place}};
    entry.pipe = options.nvidia_root + place;
    entry.nvidia_root = options.nvidia_root;
    for (const std::string& root : {root_here, options.nvidia_root}) {
      entry.ready_when.push_back(root + "/.ready");
      entry.ready_when.push_back(fmt::format("{}/{}/.started", root, resource));
    }
    plan.external[one.device->uuid] = std::move(entry);
  }
  return plan;
}

}  // namespace

bool uses_mps(const Terms& terms) {
  return terms.enforcement == Enforcement::kMps || terms.enforcement == Enforcement::kMpsExclusive;
}

MpsPlan plan_mps(const Catalog& catalog, const MpsOptions& options, const LargestHeld& held,
                 const std::string& nvidia_root_here) {
  const std::vector<WantedDevice> wanted = wanted_devices(catalog);
  switch (options.daemons) {
    case MpsDaemons::kOutside: return outside(wanted, options);
    case MpsDaemons::kPerGpu: return per_gpu(wanted, options, held);
    case MpsDaemons::kPerNode: return per_node(wanted, options, held);
    case MpsDaemons::kNvidia: return nvidias(wanted, options, nvidia_root_here);
  }
  return {};
}

std::map<std::string, MpsWiring> wirings_of(const MpsDaemonPlan& daemon,
                                            const std::string& problem) {
  std::map<std::string, MpsWiring> wirings;
  MpsWiring wiring{.pipe_directory = kDefaultPipe,
                   .mounts = {{kDefaultPipe, daemon.client_view(), true}},
                   .problem = problem};
  if (daemon.shared_memory) wiring.mounts.push_back({"/dev/shm", daemon.shm(), false});
  // A client numbers the GPUs that it sees, which need not be all of the daemon's.
  if (daemon.devices.size() > 1) wiring.ordinal.reset();
  for (const std::string& uuid : daemon.devices) wirings[uuid] = wiring;
  return wirings;
}

}  // namespace tranche::core
