// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/offer.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/text.h"
#include "core/sharing/cut.h"
#include "core/sharing/mig_layout.h"
#include "core/sharing/replicate.h"
#include "core/sharing/selection.h"

namespace tranche::core {
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

// Why a GPU is not offered at all; empty: it is.
std::string reason_to_withhold(const Gpu& gpu, const SharingPolicy& policy) {
  if (gpu.model == "DGX Display" || gpu.model == "NVIDIA DGX Display") return "a display adapter";
  for (const Exclusion& exclusion : policy.excluded) {
    if (is_excluded(gpu, exclusion)) return "excluded by the configuration";
  }
  return {};
}

// The note for an exclusion that matches no GPU; empty for a model, which need not be on
// every node.
std::string unmatched(const Exclusion& exclusion, const Inventory& inventory) {
  struct Sentence {
    const Inventory& inventory;
    std::string operator()(const GpuIndex& wanted) const {
      const bool is_known = inventory.numbers.contains(wanted.index);
      return no_such_index(wanted.index, inventory) +
             (is_known ? "; one that is put there is excluded" : "; the entry excludes nothing");
    }
    std::string operator()(const AnyUuid& wanted) const {
      return fmt::format(
          "no GPU has uuid {}; the entry excludes nothing, and a card that replaced it is offered",
          wanted.text);
    }
    std::string operator()(const PciAddress& wanted) const {
      return fmt::format("no GPU has PCI address {}; the entry excludes nothing now",
                         to_string(wanted));
    }
    std::string operator()(const ModelPattern&) const { return {}; }
  };
  return std::visit(Sentence{inventory}, exclusion);
}

std::vector<std::string> unmatched_exclusions(const Inventory& inventory,
                                              const SharingPolicy& policy) {
  std::vector<std::string> notes;
  // If the driver was never read, the GPUs are not known.
  if (inventory.driver == DriverKind::kNone && inventory.gpus.empty()) return notes;
  for (const Exclusion& exclusion : policy.excluded) {
    const bool matches = std::ranges::any_of(
        inventory.gpus, [&](const Gpu& gpu) { return is_excluded(gpu, exclusion); });
    const std::string sentence = matches ? "" : unmatched(exclusion, inventory);
    if (!sentence.empty()) notes.push_back("tranche.excludeDevices: " + sentence);
  }
  return notes;
}

const ResourceName* first_match(const std::vector<NameRule>& rules, const std::string& text) {
  const auto rule = std::ranges::find_if(
      rules, [&](const NameRule& candidate) { return glob_match(candidate.pattern, text); });
  return rule == rules.end() ? nullptr : &rule->name;
}

OfferedDevice whole(const Gpu& gpu) {
  return {.uuid = gpu.uuid.text,
          .gpu = gpu.uuid,
          .gpu_index = gpu.index,
          .model = gpu.model,
          .minor = gpu.minor,
          .numa_node = gpu.numa_node,
          .memory_bytes = gpu.memory_bytes,
          .partial = gpu.partial,
          .health = gpu.health,
          .driver_index = gpu.driver_index};
}

OfferedDevice slice(const Gpu& gpu, const MigDevice& mig) {
  OfferedDevice device = whole(gpu);
  device.uuid = mig.uuid.text;
  device.mig_index = mig.index;
  device.model = fmt::format("{} MIG {}", gpu.model, to_string(mig.profile));
  device.memory_bytes = mig.memory_bytes;
  device.partial = mig.partial;
  if (mig.gpu_instance_cap) device.caps.push_back(*mig.gpu_instance_cap);
  if (mig.compute_instance_cap) device.caps.push_back(*mig.compute_instance_cap);
  // A fault of the GPU is a fault of each of its slices.
  for (const std::string& trouble : mig.health.troubles) device.health.troubles.push_back(trouble);
  return device;
}

class Offering {
 public:
  Offering(const Inventory& inventory, const SharingPolicy& policy, Cuts cuts)
      : inventory_(inventory), policy_(policy), cuts_(std::move(cuts)) {
    catalog_.withheld = std::move(cuts_.withheld);
    catalog_.notes = std::move(cuts_.notes);
  }

  // Whether any of it is offered by a row of tranche.policies.
  bool is_cut(const Gpu& gpu) const {
    return cuts_.taken.contains(gpu.uuid.text) ||
           std::ranges::any_of(
               gpu.mig, [&](const MigDevice& mig) { return cuts_.taken.contains(mig.uuid.text); });
  }

  void add_gpu(const Gpu& gpu) {
    if (cuts_.taken.contains(gpu.uuid.text)) return;
    if (policy_.mig == MigStrategy::kNone && (is_cut(gpu) || gpu.only_slices)) {
      withhold_other_slices(gpu);
    } else if (policy_.mig == MigStrategy::kNone || !gpu.mig_enabled) {
      offers_[usual_name(policy_, gpu)].push_back(whole(gpu));
    } else {
      add_slices(gpu);
    }
  }

  void withhold(const Gpu& gpu, std::string reason) {
    catalog_.withheld.push_back({gpu.uuid.text, std::to_string(gpu.index), std::move(reason)});
  }

  void note(std::vector<std::string> notes) {
    std::ranges::move(notes, std::back_inserter(catalog_.notes));
  }

  Catalog finish() && {
    replicate(offers_, policy_, inventory_, catalog_.notes);
    for (auto& [name, devices] : offers_) {
      if (devices.empty()) continue;
      if (std::ranges::find(cuts_.offers, name, &Offer::name) != cuts_.offers.end()) {
        join_cut_offer(name, devices);
        continue;
      }
      std::ranges::sort(devices, {},
                        [](const OfferedDevice& d) { return std::pair(d.gpu_index, d.mig_index); });
      Offer offer{.name = name, .devices = std::move(devices)};
      count_where_partial(offer);
      offer.terms = usual_terms(offer);
      cuts_.offers.push_back(std::move(offer));
    }
    std::ranges::sort(cuts_.offers, {}, &Offer::name);
    catalog_.offers = std::move(cuts_.offers);
    return std::move(catalog_);
  }

 private:
  // If only a part of a device was granted to us, shares are parts of that part.
  static void count_where_partial(Offer& offer) {
    if (std::ranges::none_of(offer.devices, &OfferedDevice::partial)) return;
    for (OfferedDevice& device : offer.devices) {
      device.share_bytes = device.memory_bytes / device.shares();
    }
  }

  Terms usual_terms(const Offer& offer) const {
    const bool replicated = offer.is_replicated();
    Terms terms{.form = replicated ? ShareForm::kReplicas : ShareForm::kWhole,
                .placement = policy_.replica_placement,
                .one_share_only = policy_.fail_requests_greater_than_one && replicated,
                .dialect = policy_.usual_dialect,
                .exposure = policy_.usual_exposure};
    if (replicated && policy_.replicas_use_mps) terms.demanded = Enforcement::kMps;
    return terms;
  }

  // The other devices of a name that policies use too: whole GPUs can join whole GPUs.
  void join_cut_offer(const ResourceName& name, std::vector<OfferedDevice>& devices) {
    Offer& offer = *std::ranges::find(cuts_.offers, name, &Offer::name);
    const bool alike = offer.terms.form == ShareForm::kWhole &&
                       offer.terms.dialect == policy_.usual_dialect &&
                       offer.terms.exposure == policy_.usual_exposure &&
                       std::ranges::all_of(devices, [&](const OfferedDevice& device) {
                         return !device.replicas && offer.devices.front().tag == device.tag;
                       });
    for (OfferedDevice& device : devices) {
      if (alike) {
        device.share_bytes = device.memory_bytes;
        offer.devices.push_back(std::move(device));
      } else {
        catalog_.withheld.push_back({device.uuid, device.index(),
                                     fmt::format("fits no row of tranche.policies, and a row "
                                                 "offers {}, its usual name, on other terms",
                                                 name.text)});
      }
    }
    std::ranges::sort(offer.devices, {},
                      [](const OfferedDevice& d) { return std::pair(d.gpu_index, d.mig_index); });
  }

  void withhold_other_slices(const Gpu& gpu) {
    for (const MigDevice& mig : gpu.mig) {
      if (!cuts_.taken.contains(mig.uuid.text)) {
        withhold(gpu, mig, "fits no row of tranche.policies, and --mig-strategy is none");
      }
    }
  }

  void withhold(const Gpu& gpu, const MigDevice& mig, std::string reason) {
    catalog_.withheld.push_back(
        {mig.uuid.text, fmt::format("{}:{}", gpu.index, mig.index), std::move(reason)});
  }

  void add_slices(const Gpu& gpu) {
    if (gpu.mig.empty()) withhold(gpu, "MIG is enabled and no MIG device is configured");
    for (const MigDevice& mig : gpu.mig) {
      if (cuts_.taken.contains(mig.uuid.text)) continue;
      if (const auto name = usual_name(policy_, mig)) {
        offers_[*name].push_back(slice(gpu, mig));
      } else {
        withhold(gpu, mig,
                 fmt::format("MIG profile {} is a part of its GPU instance and matches no pattern "
                             "in resources.mig",
                             to_string(mig.profile)));
      }
    }
  }

  const Inventory& inventory_;
  const SharingPolicy& policy_;
  Cuts cuts_;
  Catalog catalog_;
  std::map<ResourceName, std::vector<OfferedDevice>> offers_;
};

// The devices that tranche.policies can select. A GPU with MIG enabled is offered as its
// slices, and as a whole only if it has none.
std::vector<WholeDevice> whole_devices(const std::vector<const Gpu*>& gpus) {
  std::vector<WholeDevice> devices;
  for (const Gpu* gpu : gpus) {
    if (!gpu->mig_enabled) devices.push_back({whole(*gpu), gpu->model, std::nullopt});
    for (const MigDevice& mig : gpu->mig) {
      devices.push_back(
          {slice(*gpu, mig), gpu->model, to_string(mig.profile), !fills_its_instance(mig.profile)});
    }
  }
  return devices;
}

}  // namespace

Catalog offer(const Inventory& inventory, const SharingPolicy& policy) {
  std::vector<const Gpu*> candidates;
  for (const Gpu& gpu : inventory.gpus) {
    if (reason_to_withhold(gpu, policy).empty()) candidates.push_back(&gpu);
  }
  Offering offering(inventory, policy, cut(whole_devices(candidates), policy.policies, inventory));
  offering.note(unmatched_exclusions(inventory, policy));
  std::map<GpuUuid, std::string> misfits;
  if (policy.mig == MigStrategy::kSingle) {
    std::erase_if(candidates, [&](const Gpu* gpu) { return offering.is_cut(*gpu); });
    misfits = single_misfits(candidates);
  }
  for (const Gpu& gpu : inventory.gpus) {
    const auto misfit = misfits.find(gpu.uuid);
    std::string reason = misfit != misfits.end() ? misfit->second : reason_to_withhold(gpu, policy);
    if (reason.empty()) {
      offering.add_gpu(gpu);
    } else {
      offering.withhold(gpu, std::move(reason));
    }
  }
  Catalog catalog = std::move(offering).finish();
  catalog.slices_are_unknown = inventory.driver == DriverKind::kDeviceNodes;
  for (const Gpu& gpu : inventory.gpus) {
    if (gpu.minor && !gpu.lost) {
      catalog.gpu_of_node.emplace(fmt::format("nvidia{}", *gpu.minor), gpu.uuid.text);
    }
    for (const MigDevice& mig : gpu.mig) {
      catalog.gpu_of_slice.emplace(mig.uuid.text, gpu.uuid.text);
    }
  }
  return catalog;
}

std::vector<OfferedDevice> node_devices(const Inventory& inventory) {
  std::vector<OfferedDevice> devices;
  for (const Gpu& gpu : inventory.gpus) {
    if (gpu.lost) continue;
    if (!gpu.mig_enabled || gpu.mig.empty()) devices.push_back(whole(gpu));
    if (!gpu.mig_enabled) continue;
    for (const MigDevice& mig : gpu.mig) devices.push_back(slice(gpu, mig));
  }
  return devices;
}

std::set<std::string> excluded_gpus(const Inventory& inventory, const SharingPolicy& policy) {
  std::set<std::string> uuids;
  for (const Gpu& gpu : inventory.gpus) {
    if (!reason_to_withhold(gpu, policy).empty()) uuids.insert(gpu.uuid.text);
  }
  return uuids;
}

ResourceName usual_name(const SharingPolicy& policy, const Gpu& gpu) {
  const ResourceName* named = first_match(policy.gpu_names, gpu.model);
  return named != nullptr ? *named : ResourceName(std::string(kDomain) + "gpu");
}

std::optional<ResourceName> usual_name(const SharingPolicy& policy, const MigDevice& mig) {
  if (const ResourceName* named = first_match(policy.mig_names, to_string(mig.profile))) {
    return *named;
  }
  if (policy.mig == MigStrategy::kSingle) return ResourceName(std::string(kDomain) + "gpu");
  if (!fills_its_instance(mig.profile)) return std::nullopt;
  return ResourceName(kDomain + ("mig-" + resource_form(mig.profile)));
}

std::vector<std::string> unmatched_patterns(const Inventory& inventory,
                                            const SharingPolicy& policy) {
  std::vector<std::string> notes;
  if (inventory.driver == DriverKind::kNone && inventory.gpus.empty()) return notes;
  const auto some_model = [&](const std::string& pattern) {
    return std::ranges::any_of(inventory.gpus,
                               [&](const Gpu& gpu) { return glob_match(pattern, gpu.model); });
  };
  const auto some_profile = [&](const std::string& pattern) {
    return std::ranges::any_of(inventory.gpus, [&](const Gpu& gpu) {
      return std::ranges::any_of(gpu.mig, [&](const MigDevice& mig) {
        return glob_match(pattern, to_string(mig.profile));
      });
    });
  };
  for (const Exclusion& exclusion : policy.excluded) {
    const auto* model = std::get_if<ModelPattern>(&exclusion);
    if (model == nullptr || some_model(model->pattern)) continue;
    notes.push_back(
        fmt::format("tranche.excludeDevices: no GPU of this node has a model like '{}'; the entry "
                    "excludes nothing",
                    model->pattern));
  }
  for (const NameRule& rule : policy.gpu_names) {
    if (some_model(rule.pattern)) continue;
    notes.push_back(fmt::format(
        "resources.gpus: no GPU of this node has a model like '{}', so none is named {}",
        rule.pattern, rule.name.text));
  }
  for (const NameRule& rule : policy.mig_names) {
    if (some_profile(rule.pattern)) continue;
    notes.push_back(fmt::format(
        "resources.mig: no MIG device of this node has a profile like '{}', so none is named {}",
        rule.pattern, rule.name.text));
  }
  return notes;
}

}  // namespace tranche::core
