// SPDX-License-Identifier: Apache-2.0
#include "core/features/feature_labels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/features/device_sharing.h"
#include "core/features/mig_labels.h"
#include "core/sharing/offer.h"

namespace tranche::core {
namespace {

using Gpus = std::vector<const Gpu*>;  // by their numbers

constexpr std::uint32_t kVgaController = 0x030000;
constexpr std::uint32_t k3dController = 0x030200;

// Excluded GPUs and display adapters are not there for pods, so labels do not count them. All
// others count in any state, because a fault must not move pods to other nodes.
Gpus labelled_gpus(const Inventory& inventory, const SharingPolicy& policy) {
  const std::set<std::string> excluded = excluded_gpus(inventory, policy);
  Gpus gpus;
  for (const Gpu& gpu : inventory.gpus) {
    if (!excluded.contains(gpu.uuid.text)) gpus.push_back(&gpu);
  }
  return gpus;
}

void put_versions(NodeLabels& labels, const Inventory& inventory) {
  const std::string& driver = inventory.driver_version;
  if (!driver.empty()) put_label(labels, "nvidia.com/cuda.driver-version.full", driver);
  const std::vector<std::string> parts = split(driver, '.');
  if (parts.size() == 2 || parts.size() == 3) {
    const std::string revision = parts.size() == 3 ? parts[2] : "";
    put_label(labels, "nvidia.com/cuda.driver.major", parts[0]);
    put_label(labels, "nvidia.com/cuda.driver.minor", parts[1]);
    put_label(labels, "nvidia.com/cuda.driver.rev", revision);
    put_label(labels, "nvidia.com/cuda.driver-version.major", parts[0]);
    put_label(labels, "nvidia.com/cuda.driver-version.minor", parts[1]);
    put_label(labels, "nvidia.com/cuda.driver-version.revision", revision);
  }
  const std::vector<std::string> cuda = split(inventory.cuda_version, '.');
  if (cuda.size() != 2) return;
  put_label(labels, "nvidia.com/cuda.runtime.major", cuda[0]);
  put_label(labels, "nvidia.com/cuda.runtime.minor", cuda[1]);
  put_label(labels, "nvidia.com/cuda.runtime-version.major", cuda[0]);
  put_label(labels, "nvidia.com/cuda.runtime-version.minor", cuda[1]);
  put_label(labels, "nvidia.com/cuda.runtime-version.full", inventory.cuda_version);
}

// NVIDIA's names of architectures; empty: one without a name here.
std::string_view family(unsigned major, unsigned minor) {
  switch (major) {
    case 1: return "tesla";
    case 2: return "fermi";
    case 3: return "kepler";
    case 5: return "maxwell";
    case 6: return "pascal";
    case 7: return minor < 5 ? "volta" : "turing";
    case 8: return minor < 9 ? "ampere" : "ada-lovelace";
    case 9: return "hopper";
    case 10:
    case 11:
    case 12: return "blackwell";
    case 13: return "rubin";
    default: return {};
  }
}

// The GPUs of the model that most have; on a tie, of the one with the lowest number.
Gpus main_model(const Gpus& gpus) {
  std::map<std::string, std::size_t> counts;
  for (const Gpu* gpu : gpus) ++counts[gpu->model];
  const auto first =
      std::ranges::max_element(gpus, {}, [&](const Gpu* gpu) { return counts[gpu->model]; });
  Gpus same;
  if (first == gpus.end()) return same;
  std::ranges::copy_if(gpus, std::back_inserter(same),
                       [&](const Gpu* gpu) { return gpu->model == (*first)->model; });
  return same;
}

void put_architecture(NodeLabels& labels, const Gpus& same) {
  const auto known =
      std::ranges::find_if(same, [](const Gpu* gpu) { return gpu->compute_major != 0; });
  if (known == same.end()) return;
  const unsigned major = (*known)->compute_major;
  const unsigned minor = (*known)->compute_minor;
  put_label(labels, "nvidia.com/gpu.compute.major", std::to_string(major));
  put_label(labels, "nvidia.com/gpu.compute.minor", std::to_string(minor));
  if (const std::string_view name = family(major, minor); !name.empty()) {
    put_label(labels, "nvidia.com/gpu.family", std::string(name));
  }
}

// The smallest, so that a pod which asks for at least so much is right on any of them.
void put_memory(NodeLabels& labels, const Gpus& same) {
  std::optional<std::uint64_t> smallest;
  for (const Gpu* gpu : same) {
    if (gpu->memory_bytes == 0) continue;
    smallest = std::min(smallest.value_or(gpu->memory_bytes), gpu->memory_bytes);
  }
  if (smallest) put_label(labels, "nvidia.com/gpu.memory", std::to_string(*smallest >> 20));
}

// Whole GPUs of one model.
void put_gpu_labels(NodeLabels& labels, const Gpus& same, const Catalog& catalog,
                    const SharingPolicy& policy) {
  if (same.empty()) return;
  std::set<std::string> uuids;
  for (const Gpu* gpu : same) uuids.insert(gpu->uuid.text);
  const DeviceSharing sharing = sharing_of(uuids, usual_name(policy, *same.front()), catalog);
  put_product(labels, "nvidia.com/gpu", *same.front(),
              sharing.is_shared_under_usual_name ? "-SHARED" : "");
  put_label(labels, "nvidia.com/gpu.count", std::to_string(same.size()));
  if (sharing.replicas) {
    put_label(labels, "nvidia.com/gpu.replicas", std::to_string(*sharing.replicas));
  }
  put_label(labels, "nvidia.com/gpu.sharing-strategy", std::string(sharing.strategy));
  put_memory(labels, same);
  put_architecture(labels, same);
}

Gpus served(const Gpus& gpus, const Catalog& catalog) {
  Gpus result;
  std::ranges::copy_if(gpus, std::back_inserter(result), [&](const Gpu* gpu) {
    return std::ranges::find(catalog.withheld, gpu->uuid.text, &Withheld::uuid) ==
           catalog.withheld.end();
  });
  return result;
}

// Of the GPUs that fit the strategy: Tranche serves those and withholds the others.
void put_single(NodeLabels& labels, const Gpus& gpus, const Catalog& catalog,
                const SharingPolicy& policy) {
  const Gpus fits = served(gpus, catalog);
  if (const std::vector<SlicePlace> slices = slices_of(fits); !slices.empty()) {
    put_architecture(labels, {&put_single_labels(labels, slices, catalog, policy)});
  } else if (!fits.empty()) {
    put_gpu_labels(labels, main_model(fits), catalog, policy);
  } else {
    const auto first = std::ranges::find_if(gpus, &Gpu::mig_enabled);
    put_architecture(labels, {*first});
    put_invalid_labels(labels, **first);
  }
}

void put_devices(NodeLabels& labels, const Gpus& gpus, const Catalog& catalog,
                 const SharingPolicy& policy) {
  const bool any_mig = std::ranges::any_of(gpus, &Gpu::mig_enabled);
  if (policy.mig == MigStrategy::kSingle && any_mig) {
    put_single(labels, gpus, catalog, policy);
  } else {
    put_gpu_labels(labels, main_model(gpus), catalog, policy);
  }
  if (policy.mig == MigStrategy::kMixed) {
    put_mixed_labels(labels, slices_of(gpus), catalog, policy);
  }
  if (policy.mig != MigStrategy::kNone) {
    const bool is_single = policy.mig == MigStrategy::kSingle;
    put_label(labels, "nvidia.com/mig.strategy", is_single ? "single" : "mixed");
  }
}

void put_capabilities(NodeLabels& labels, const Gpus& gpus, const Catalog& catalog) {
  const auto is_capable = [](const Gpu* gpu) { return gpu->features.mig_capable; };
  const bool any =
      std::ranges::any_of(gpus, [&](const Gpu* gpu) { return is_capable(gpu) == true; });
  const bool known =
      std::ranges::all_of(gpus, [&](const Gpu* gpu) { return is_capable(gpu).has_value(); });
  if (any || known) put_label(labels, "nvidia.com/mig.capable", any ? "true" : "false");
  const bool mps = std::ranges::any_of(catalog.offers, is_shared_by_mps);
  put_label(labels, "nvidia.com/mps.capable", mps ? "true" : "false");
}

void put_mode(NodeLabels& labels, const Gpus& gpus) {
  std::string mode = "unknown";
  const auto pci_class = gpus.front()->features.pci_class;
  const bool alike = std::ranges::all_of(
      gpus, [&](const Gpu* gpu) { return gpu->features.pci_class == pci_class; });
  if (alike && pci_class == kVgaController) mode = "graphics";
  if (alike && pci_class == k3dController) mode = "compute";
  put_label(labels, "nvidia.com/gpu.mode", std::move(mode));
}

// Only where all GPUs that are in a fabric are in one clique.
void put_clique(NodeLabels& labels, const Gpus& gpus) {
  std::set<std::pair<std::string, unsigned>> cliques;
  for (const Gpu* gpu : gpus) {
    const auto& fabric = gpu->features.fabric;
    if (fabric) cliques.emplace(fabric->cluster, fabric->clique);
  }
  if (cliques.size() != 1) return;
  const auto& [cluster, clique] = *cliques.begin();
  put_label(labels, "nvidia.com/gpu.clique", cluster + "." + std::to_string(clique));
}

void put_vgpu(NodeLabels& labels, const Gpus& gpus) {
  const auto virtual_one =
      std::ranges::find_if(gpus, [](const Gpu* gpu) { return gpu->features.is_vgpu == true; });
  const bool known =
      std::ranges::all_of(gpus, [](const Gpu* gpu) { return gpu->features.is_vgpu.has_value(); });
  const bool any = virtual_one != gpus.end();
  if (any || known) put_label(labels, "nvidia.com/vgpu.present", any ? "true" : "false");
  if (!any) return;
  const VgpuHost& host = (*virtual_one)->features.vgpu_host;
  if (!host.driver_version.empty()) {
    put_label(labels, "nvidia.com/vgpu.host-driver-version", host.driver_version);
  }
  if (!host.driver_branch.empty()) {
    put_label(labels, "nvidia.com/vgpu.host-driver-branch", host.driver_branch);
  }
}

}  // namespace

NodeLabels feature_labels(const Inventory& inventory, const Catalog& catalog,
                          const SharingPolicy& policy, const MachineFacts& machine) {
  NodeLabels labels;
  if (machine.timestamp != 0) {
    put_label(labels, "nvidia.com/gfd.timestamp", std::to_string(machine.timestamp));
  }
  const Gpus gpus = labelled_gpus(inventory, policy);
  put_vgpu(labels, gpus);
  if (gpus.empty()) return labels;
  const std::string type = label_value(machine.type, "");
  put_label(labels, "nvidia.com/gpu.machine", type.empty() ? "unknown" : type);
  put_versions(labels, inventory);
  put_capabilities(labels, gpus, catalog);
  put_devices(labels, gpus, catalog, policy);
  put_mode(labels, gpus);
  put_clique(labels, gpus);
  return labels;
}

}  // namespace tranche::core
