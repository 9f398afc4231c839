// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/mig_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace tranche::core {
namespace {

constexpr const char* kNotCut = "not cut";

// The GPU's MIG profile, if all its MIG devices have the same one; empty otherwise.
std::string layout_of(const Gpu& gpu) {
  if (!gpu.mig_enabled) return kNotCut;
  std::set<std::string> kinds;
  for (const MigDevice& mig : gpu.mig) kinds.insert(to_string(mig.profile));
  return kinds.size() == 1 ? *kinds.begin() : std::string();
}

std::string most_common_layout(const std::vector<const Gpu*>& gpus) {
  std::map<std::string, int> counts;
  for (const Gpu* gpu : gpus) ++counts[layout_of(*gpu)];
  std::string best;
  for (const Gpu* gpu : gpus) {  // in index order, so the lowest wins a tie
    const std::string layout = layout_of(*gpu);
    if (!layout.empty() && (best.empty() || counts[layout] > counts[best])) best = layout;
  }
  return best;
}

std::string misfit(const Gpu& gpu, const std::string& served) {
  const std::string layout = layout_of(gpu);
  if (gpu.mig_enabled && gpu.mig.empty()) return "MIG is enabled and no MIG device is configured";
  if (layout.empty()) return "it has MIG devices of several profiles; strategy single needs one";
  if (layout == served) return {};
  const std::string most = served == kNotCut ? "not cut with MIG" : "cut into " + served;
  return fmt::format("{} while most GPUs of the node are {}; strategy single needs all alike",
                     layout == kNotCut ? "it is not cut with MIG" : "it is cut into " + layout,
                     most);
}

}  // namespace

std::map<GpuUuid, std::string> single_misfits(const std::vector<const Gpu*>& gpus) {
  const std::string served = most_common_layout(gpus);
  std::map<GpuUuid, std::string> misfits;
  for (const Gpu* gpu : gpus) {
    if (std::string reason = misfit(*gpu, served); !reason.empty()) {
      misfits.emplace(gpu->uuid, std::move(reason));
    }
  }
  return misfits;
}

}  // namespace tranche::core
