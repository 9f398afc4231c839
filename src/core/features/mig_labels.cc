// SPDX-License-Identifier: Apache-2.0
#include "core/features/mig_labels.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "core/features/device_sharing.h"
#include "core/sharing/offer.h"

namespace tranche::core {
namespace {

constexpr const char* kGpuKey = "nvidia.com/gpu";

using Profiles = std::map<std::string, std::vector<SlicePlace>>;  // by their names in labels

Profiles by_profile(const std::vector<SlicePlace>& slices) {
  Profiles profiles;
  for (const SlicePlace& slice : slices) {
    profiles[resource_form(slice.mig->profile)].push_back(slice);
  }
  return profiles;
}

// The first one of the model that most of them have.
const SlicePlace& typical(const std::vector<SlicePlace>& slices) {
  std::map<std::string, std::size_t> counts;
  for (const SlicePlace& slice : slices) ++counts[slice.gpu->model];
  return *std::ranges::max_element(
      slices, {}, [&](const SlicePlace& slice) { return counts[slice.gpu->model]; });
}

void put_units(NodeLabels& labels, const std::string& key, const MigDevice& mig) {
  put_label(labels, key + ".slices.gi", std::to_string(mig.profile.gpu_slices));
  put_label(labels, key + ".slices.ci", std::to_string(mig.profile.compute_slices));
  if (!mig.units) return;
  put_label(labels, key + ".multiprocessors", std::to_string(mig.units->multiprocessors));
  put_label(labels, key + ".engines.copy", std::to_string(mig.units->copy_engines));
  put_label(labels, key + ".engines.decoder", std::to_string(mig.units->decoders));
  put_label(labels, key + ".engines.encoder", std::to_string(mig.units->encoders));
  put_label(labels, key + ".engines.jpeg", std::to_string(mig.units->jpeg_engines));
  put_label(labels, key + ".engines.ofa", std::to_string(mig.units->ofa_engines));
}

// All of one profile.
void put_profile_labels(NodeLabels& labels, const std::string& key, const std::string& profile,
                        const std::vector<SlicePlace>& slices, const DeviceSharing& sharing) {
  const SlicePlace& one = typical(slices);
  put_product(labels, key, *one.gpu,
              "-MIG-" + profile + (sharing.is_shared_under_usual_name ? "-SHARED" : ""));
  put_label(labels, key + ".count", std::to_string(slices.size()));
  if (sharing.replicas) put_label(labels, key + ".replicas", std::to_string(*sharing.replicas));
  put_label(labels, key + ".sharing-strategy", std::string(sharing.strategy));
  const auto smallest = std::ranges::min_element(
      slices, {}, [](const SlicePlace& slice) { return slice.mig->memory_bytes; });
  put_label(labels, key + ".memory", std::to_string(smallest->mig->memory_bytes >> 20));
  put_units(labels, key, *one.mig);
}

DeviceSharing sharing_of_slices(const std::vector<SlicePlace>& slices, const Catalog& catalog,
                                const SharingPolicy& policy) {
  std::set<std::string> uuids;
  for (const SlicePlace& slice : slices) uuids.insert(slice.mig->uuid.text);
  return sharing_of(uuids, usual_name(policy, *slices.front().mig), catalog);
}

}  // namespace

void put_label(NodeLabels& labels, const std::string& key, std::string value) {
  if (is_label_value(value)) labels.insert_or_assign(key, std::move(value));
}

void put_product(NodeLabels& labels, const std::string& key, const Gpu& gpu,
                 const std::string& suffix) {
  std::string product = label_value(gpu.model, suffix);
  if (!product.empty()) put_label(labels, key + ".product", std::move(product));
}

std::vector<SlicePlace> slices_of(const std::vector<const Gpu*>& gpus) {
  std::vector<SlicePlace> slices;
  for (const Gpu* gpu : gpus) {
    if (!gpu->mig_enabled) continue;
    for (const MigDevice& mig : gpu->mig) slices.push_back({gpu, &mig});
  }
  return slices;
}

const Gpu& put_single_labels(NodeLabels& labels, const std::vector<SlicePlace>& slices,
                             const Catalog& catalog, const SharingPolicy& policy) {
  const Profiles profiles = by_profile(slices);
  const auto most = std::ranges::max_element(slices, {}, [&](const SlicePlace& slice) {
    return profiles.at(resource_form(slice.mig->profile)).size();
  });
  const std::string profile = resource_form(most->mig->profile);
  const std::vector<SlicePlace>& alike = profiles.at(profile);
  put_profile_labels(labels, kGpuKey, profile, alike, sharing_of_slices(alike, catalog, policy));
  return *typical(alike).gpu;
}

void put_invalid_labels(NodeLabels& labels, const Gpu& first) {
  const std::string key = kGpuKey;
  put_product(labels, key, first, "-MIG-INVALID");
  put_label(labels, key + ".count", "0");
  put_label(labels, key + ".replicas", "0");
  put_label(labels, key + ".sharing-strategy", "");
  put_label(labels, key + ".memory", "0");
}

void put_mixed_labels(NodeLabels& labels, const std::vector<SlicePlace>& slices,
                      const Catalog& catalog, const SharingPolicy& policy) {
  for (const auto& [profile, alike] : by_profile(slices)) {
    put_profile_labels(labels, "nvidia.com/mig-" + profile, profile, alike,
                       sharing_of_slices(alike, catalog, policy));
  }
}

}  // namespace tranche::core
