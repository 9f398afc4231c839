// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/cdi/explained.h"

#include <algorithm>

#include "base/text.h"

namespace tranche::tests {
namespace {

using Names = std::vector<std::string>;

bool matches_any(const Names& patterns, const std::string& entry) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return glob_match(pattern, entry); });
}

// The device of a cut GPU is ours alone, and with it come its nodes into `all`,
// where theirs has no more than the slices.
Explained whole_mig_gpus(const Inventory& inventory, const DriverFiles& files) {
  Explained difference = {.name = "whole MIG GPU"};
  Names& ours = difference.only_ours;
  for (const Gpu& gpu : inventory.gpus) {
    if (!gpu.mig_enabled || !gpu.pci || !gpu.minor) continue;
    ours.push_back("device " + gpu.uuid.text + ": *");
    ours.push_back("device " + std::to_string(gpu.index) + ": *");
    ours.push_back("device all: node /dev/nvidia" + std::to_string(*gpu.minor) + " *");
    ours.push_back("device all: link *::/dev/dri/by-path/pci-" + to_string(*gpu.pci) + "-*");
    ours.emplace_back("device all: hook * create-symlinks");
    const auto drm = files.drm.find(*gpu.pci);
    if (drm == files.drm.end()) continue;
    for (const std::string& node : drm->second) ours.push_back("device all: node " + node + " *");
  }
  return difference;
}

}  // namespace

std::vector<Explained> explained_differences(const std::string& root, const Inventory& inventory,
                                             const DriverFiles& files) {
  return {
      whole_mig_gpus(inventory, files),
      {.name = "sockets of daemons",
       .only_theirs = {"common: mount /run/nvidia-persistenced/socket from *"},
       .only_ours = {}},
      {.name = "links to graphics nodes",
       .only_theirs = {"device *: link *::" + root + "/dev/dri/by-path/*"},
       .only_ours = {"device *: link *::/dev/dri/by-path/*"}},
      {.name = "linked driver files",
       .only_theirs = {"common: mount /usr/bin/nvidia-smi from " + root + "/usr/bin/nvidia-smi *"},
       .only_ours = {"common: mount /usr/bin/nvidia-smi from " + root +
                     "/opt/nvidia/nvidia-smi *"}},
      {.name = "IMEX channel numbers",
       .only_theirs = {"device 0: node */channel0 from * 0:0 mode 0 * no permissions *"},
       .only_ours = {"device 0: node */channel0 from * 236:0 mode 666 * rwm *"}},
  };
}

Names differences_with_tests_of_their_own() {
  return {"absolute links", "GPU that does not answer", "old MIG ids", "nothing to give"};
}

Comparison compare(const SpecEntries& theirs, const SpecEntries& ours,
                   const std::vector<Explained>& explained) {
  Comparison comparison;
  const auto explain = [&](const std::string& entry, Names Explained::* side, const char* whose) {
    const auto reason = std::ranges::find_if(explained, [&](const Explained& difference) {
      return matches_any(difference.*side, entry);
    });
    if (reason != explained.end()) {
      comparison.used.insert(reason->name);
    } else {
      comparison.unexplained.push_back(whose + entry);
    }
  };
  for (const std::string& entry : theirs) {
    if (!ours.contains(entry)) explain(entry, &Explained::only_theirs, "only theirs: ");
  }
  for (const std::string& entry : ours) {
    if (!theirs.contains(entry)) explain(entry, &Explained::only_ours, "only ours: ");
  }
  return comparison;
}

}  // namespace tranche::tests
