// SPDX-License-Identifier: Apache-2.0
#include "sharing/offer.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "sharing/mig_layout.h"
#include "sharing/replicate.h"

namespace tranche {
namespace {

constexpr const char* kDomain = "nvidia.com/";

bool is_excluded(const Gpu& gpu, const Exclusion& exclusion) {
  struct Matches {
    const Gpu& gpu;
    bool operator()(const GpuIndex& wanted) const { return wanted.index == gpu.index; }
    bool operator()(const AnyUuid& wanted) const { return wanted.text == gpu.uuid.text; }
    bool operator()(const PciAddress& wanted) const { return gpu.pci == wanted; }
    bool operator()(const ModelPattern& wanted) const {
      return glob_match(lower(wanted.pattern), lower(gpu.model));
    }
  };
  return std::visit(Matches{gpu}, exclusion);
}

// Why a GPU is not to be offered at all; empty: it is.
std::string reason_to_withhold(const Gpu& gpu, const SharingPolicy& policy) {
  if (gpu.model == "DGX Display" || gpu.model == "NVIDIA DGX Display") return "a display adapter";
  for (const Exclusion& exclusion : policy.excluded) {
    if (is_excluded(gpu, exclusion)) return "excluded by the configuration";
  }
  return {};
}

const ResourceName* first_match(const std::vector<NameRule>& rules, const std::string& text) {
  const auto rule = std::ranges::find_if(
      rules, [&](const NameRule& candidate) { return glob_match(candidate.pattern, text); });
  return rule == rules.end() ? nullptr : &rule->name;
}

ResourceName gpu_name(const SharingPolicy& policy, const Gpu& gpu) {
  const ResourceName* named = first_match(policy.gpu_names, gpu.model);
  return named != nullptr ? *named : ResourceName(std::string(kDomain) + "gpu");
}

OfferedDevice whole(const Gpu& gpu) {
  return {.uuid = gpu.uuid.text,
          .gpu = gpu.uuid,
          .gpu_index = gpu.index,
          .model = gpu.model,
          .minor = gpu.minor,
          .numa_node = gpu.numa_node,
          .health = gpu.health};
}

OfferedDevice slice(const Gpu& gpu, const MigDevice& mig) {
  OfferedDevice device = whole(gpu);
  device.uuid = mig.uuid.text;
  device.mig_index = mig.index;
  device.model = gpu.model + " MIG " + to_string(mig.profile);
  if (mig.gpu_instance_cap) device.caps.push_back(*mig.gpu_instance_cap);
  if (mig.compute_instance_cap) device.caps.push_back(*mig.compute_instance_cap);
  // What is wrong with the GPU is wrong with every slice of it.
  for (const std::string& trouble : mig.health.troubles) device.health.troubles.push_back(trouble);
  return device;
}

class Offering {
 public:
  explicit Offering(const SharingPolicy& policy) : policy_(policy) {}

  void add_gpu(const Gpu& gpu) {
    if (std::string reason = reason_to_withhold(gpu, policy_); !reason.empty()) {
      withhold(gpu, std::move(reason));
    } else if (policy_.mig == MigStrategy::kNone || !gpu.mig_enabled) {
      offers_[gpu_name(policy_, gpu)].push_back(whole(gpu));
    } else {
      add_slices(gpu);
    }
  }

  void withhold(const Gpu& gpu, std::string reason) {
    catalog_.withheld.push_back({gpu.uuid.text, std::to_string(gpu.index), std::move(reason)});
  }

  Catalog finish() && {
    replicate(offers_, policy_.replications, catalog_.notes);
    for (auto& [name, devices] : offers_) {
      if (devices.empty()) continue;
      std::ranges::sort(devices, {},
                        [](const OfferedDevice& d) { return std::pair(d.gpu_index, d.mig_index); });
      Offer offer{.name = name, .devices = std::move(devices)};
      offer.one_replica_only = policy_.fail_requests_greater_than_one && offer.is_replicated();
      catalog_.offers.push_back(std::move(offer));
    }
    return std::move(catalog_);
  }

 private:
  void add_slices(const Gpu& gpu) {
    if (gpu.mig.empty()) withhold(gpu, "MIG is enabled and no MIG device is configured");
    for (const MigDevice& mig : gpu.mig) {
      if (const auto name = slice_name(mig)) {
        offers_[*name].push_back(slice(gpu, mig));
      } else {
        catalog_.withheld.push_back(
            {mig.uuid.text, std::to_string(gpu.index) + ":" + std::to_string(mig.index),
             "MIG profile " + to_string(mig.profile) +
                 " is a part of its GPU instance and matches no pattern in resources.mig"});
      }
    }
  }

  std::optional<ResourceName> slice_name(const MigDevice& mig) const {
    if (const ResourceName* named = first_match(policy_.mig_names, to_string(mig.profile))) {
      return *named;
    }
    if (policy_.mig == MigStrategy::kSingle) return ResourceName(std::string(kDomain) + "gpu");
    if (!fills_its_instance(mig.profile)) return std::nullopt;
    return ResourceName(kDomain + ("mig-" + resource_form(mig.profile)));
  }

  const SharingPolicy& policy_;
  Catalog catalog_;
  std::map<ResourceName, std::vector<OfferedDevice>> offers_;
};

}  // namespace

Catalog offer(const Inventory& inventory, const SharingPolicy& policy) {
  Offering offering(policy);
  std::vector<const Gpu*> candidates;
  for (const Gpu& gpu : inventory.gpus) {
    if (reason_to_withhold(gpu, policy).empty()) candidates.push_back(&gpu);
  }
  const std::map<GpuUuid, std::string> misfits = policy.mig == MigStrategy::kSingle
                                                     ? single_misfits(candidates)
                                                     : std::map<GpuUuid, std::string>{};
  for (const Gpu& gpu : inventory.gpus) {
    if (const auto misfit = misfits.find(gpu.uuid); misfit != misfits.end()) {
      offering.withhold(gpu, misfit->second);
    } else {
      offering.add_gpu(gpu);
    }
  }
  return std::move(offering).finish();
}

}  // namespace tranche
