// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/own_look.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "base/path.h"
#include "core/health/release.h"
#include "core/plan/plan.h"
#include "formats/fault_memory_json.h"
#include "node/driver/device_node_source.h"
#include "node/driver/fallback_source.h"
#include "node/driver/gpu_numbers_file.h"
#include "node/driver/kernel_files.h"
#include "node/driver/nvml/nvml_source.h"
#include "node/driver/release_file.h"
#include "node/holders/checkpoint_file.h"
#include "node/holders/size_memory.h"
#include "node/kubelet/pod_resources_client.h"
#include "node/nested/host_grant_reader.h"
#include "os/files.h"

namespace tranche::programs {
namespace {

// What earlier agents kept, and notes on what cannot be read of it.
struct Kept {
  NodeState state;
  std::optional<ReleaseMemory> release;
  std::vector<std::string> notes;
};

std::string text_of(const Result<std::string>& result) { return result ? *result : std::string(); }

std::int64_t unix_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

NodeState recalled_faults(const Settings& settings, std::vector<std::string>& notes) {
  const std::string path = below(settings.state_dir, "faults.json");
  const Result<std::string> text = read_file(path);
  if (!text) {
    if (text.error().code != ErrorCode::kNotFound) {
      notes.push_back(
          "cannot read the faults that an agent remembered, so a GPU that is shown "
          "healthy may not be: " +
          text.error().message);
    }
    return {};
  }
  Result<NodeState> state = parse_fault_memory(*text);
  if (!state) {
    notes.push_back("cannot read the faults that an agent remembered: " + path + ": " +
                    state.error().message);
    return {};
  }
  if (!state->faults.empty()) {
    notes.push_back("faults that the last agent remembered are from " + path);
  }
  return *std::move(state);
}

Kept recall(const Settings& settings, const KernelFiles& host) {
  Kept kept;
  kept.state = recalled_faults(settings, kept.notes);
  const Result<GpuNumbers> numbers = read_gpu_numbers(gpu_numbers_path(settings.state_dir));
  if (numbers) kept.state.inventory.numbers = *numbers;
  if (const std::string problem = numbers_problem(settings); !problem.empty()) {
    kept.notes.push_back(problem + "; indexes are the driver's");
  }
  const Result<ReleaseMemory> release = read_release(release_path(settings.state_dir));
  if (release && !is_over(*release, text_of(host.boot_id()))) kept.release = *release;
  if (!release && path_exists(release_path(settings.state_dir))) {
    kept.notes.push_back("cannot read whether the driver is released, so it is left closed: " +
                         release.error().message);
    kept.release = ReleaseMemory{.since = unix_now(), .all = true};
    kept.release->inventory.gpus = kept.state.inventory.gpus;
  }
  std::ranges::move(unreadable_notes(settings.state_dir), std::back_inserter(kept.notes));
  return kept;
}

NodeState read_driver(NodeState state, const Settings& settings, const KernelFiles& host) {
  Log quiet([](std::string_view) {});
  nvml::NvmlSource nvml(settings.driver, host, quiet);
  DeviceNodeSource nodes(host);
  FallbackSource source(nvml, nodes);
  const Surroundings around{
      .boot_id = text_of(host.boot_id()),
      .has_pci_device = [&](const PciAddress& pci) { return host.has_pci_device(pci); }};
  if (const Status opened = source.open(); !opened) {
    state = with_driver_trouble(std::move(state), opened.error().message, false);
  } else if (const Result<DriverReading> reading = source.read({}); !reading) {
    state = with_driver_trouble(std::move(state), reading.error().message, false);
  } else {
    state = with_reading(std::move(state), *reading, around);
  }
  source.close();
  return state;
}

// In a nested cluster: what is left of the driver's GPUs.
GuestInventory as_granted(const Settings& settings, NodeStatus& status) {
  GuestInventory all{.inventory = status.inventory};
  if (!settings.nested.guest) return all;
  const Result<HostGrant> grant = read_host_grant(settings.nested);
  status.host_grant = grant ? ObservedGrant{*grant, ""} : ObservedGrant{{}, grant.error().message};
  return grant ? granted_part(status.inventory, *grant)
               : unknown_part(status.inventory, grant.error().message);
}

// From the kubelet itself: its pod-resources service, else its checkpoint.
void ask_kubelet(const Settings& settings, NodeStatus& status) {
  const std::string& socket = settings.kubelet.pod_resources_socket;
  Result<std::vector<Holding>> holdings =
      socket.empty() || !path_exists(socket)
          ? Error{ErrorCode::kNotFound, "there is no socket '" + socket + "'"}
          : PodResourcesClient(socket).list({});
  if (!holdings) {
    status.ledger_problem = "the kubelet does not say: " + holdings.error().message;
    holdings = read_checkpoint(settings.kubelet.checkpoint, {});
    if (!holdings) return;
    status.catalog.notes.push_back(
        "what pods hold is from the kubelet's checkpoint, where pods "
        "that have ended may still be");
  }
  Log quiet([](std::string_view) {});
  const SizeMemory sizes(below(settings.state_dir, "granted-sizes.json"), quiet);
  status.ledger = Ledger{*std::move(holdings), sizes.recalled().granted};
}

}  // namespace

std::string numbers_problem(const Settings& settings) {
  const Result<GpuNumbers> numbers = read_gpu_numbers(gpu_numbers_path(settings.state_dir));
  if (numbers || numbers.error().code == ErrorCode::kNotFound) return {};
  return "cannot read the GPU numbers: " + numbers.error().message;
}

std::vector<std::string> unreadable_notes(const std::string& state_dir) {
  struct Meaning {
    const char* prefix;
    const char* text;
  };
  constexpr std::array kMeanings{
      Meaning{"faults.json.unreadable",
              "has faults that an agent could not understand: a GPU that was broken then may be "
              "healthy by mistake. Reset or test the GPUs that it names, then delete the file"},
      Meaning{"gpu-numbers.json.unreadable",
              "has GPU numbers that an agent could not understand: an index in the configuration "
              "may mean another GPU than before. Check the configuration, then delete the file"},
      Meaning{"released.json.unreadable",
              "should say for which GPUs the driver is released, and an agent could not understand "
              "it, so it keeps the driver closed. Run `resume` when no GPU is being reset, then "
              "delete the file"}};
  std::vector<std::string> notes;
  const Result<std::vector<std::string>> names = list_directory(state_dir);
  if (!names) return notes;
  for (const std::string& name : *names) {
    for (const Meaning& meaning : kMeanings) {
      if (name.starts_with(meaning.prefix)) {
        notes.push_back(below(state_dir, name) + " " + meaning.text);
      }
    }
  }
  return notes;
}

NodeStatus own_look(const Settings& settings) {
  const KernelFiles host(settings.host_root);
  Kept kept = recall(settings, host);
  // While the driver is released nobody opens it: somebody may be resetting a GPU.
  const NodeState state = kept.release
                              ? with_kept_release(std::move(kept.state), *kept.release, true)
                              : read_driver(std::move(kept.state), settings, host);
  NodeStatus status{.node_name = node_name(settings), .inventory = present(state)};
  GuestInventory granted = as_granted(settings, status);
  status.inventory = std::move(granted.inventory);
  status.catalog = plan({.inventory = status.inventory}, settings).catalog;
  std::vector<std::string>& notes = status.catalog.notes;
  std::ranges::move(granted.notes, std::back_inserter(notes));
  std::ranges::move(kept.notes, std::back_inserter(notes));
  ask_kubelet(settings, status);
  return status;
}

}  // namespace tranche::programs
