// SPDX-License-Identifier: Apache-2.0
#include "core/placement/pack.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/placement/free_shares.h"

namespace tranche::core {
namespace {

struct GpuShares {
  bool is_decided = false;
  std::vector<std::string_view> free;
};

// By the offer's order.
std::vector<GpuShares> by_gpu(const Offer& offer, const Choice& choice) {
  const auto free = free_shares(offer.devices.size(), choice);
  std::vector<GpuShares> gpus;
  std::map<GpuUuid, std::size_t> numbers;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const auto [number, is_new] = numbers.try_emplace(offer.devices[i].gpu, gpus.size());
    if (is_new) gpus.emplace_back();
    GpuShares& gpu = gpus[number->second];
    gpu.free.insert(gpu.free.end(), free[i].begin(), free[i].end());
    if (std::ranges::find(choice.decided, i) != choice.decided.end()) gpu.is_decided = true;
  }
  return gpus;
}

}  // namespace

std::vector<std::string_view> pick_packed(const Offer& offer, const Choice& choice) {
  std::vector<GpuShares> gpus = by_gpu(offer, choice);
  std::vector<std::string_view> picked;
  while (picked.size() < choice.needed) {
    const std::size_t left = choice.needed - picked.size();
    const auto rank = [&](const GpuShares& gpu) {
      const bool is_enough = gpu.free.size() >= left;
      const auto size = static_cast<std::int64_t>(gpu.free.size());
      return std::tuple(gpu.free.empty(), !gpu.is_decided, !is_enough, is_enough ? size : -size);
    };
    const auto best = std::ranges::min_element(gpus, {}, rank);
    if (best == gpus.end() || best->free.empty()) break;
    const std::size_t take = std::min(left, best->free.size());
    picked.insert(picked.end(), best->free.begin(),
                  best->free.begin() + static_cast<std::ptrdiff_t>(take));
    best->free.clear();
  }
  return picked;
}

}  // namespace tranche::core
