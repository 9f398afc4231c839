// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sharing/catalog.h"
#include "sharing/policy.h"

namespace tranche {

// A GPU that is not cut with MIG, or a slice of one that is.
struct WholeDevice {
  OfferedDevice device;
  std::string gpu_model;
  std::optional<std::string> mig_profile;
  // It is a part of a GPU instance, whose memory its parts have in common.
  bool shares_memory = false;
};

struct Cuts {
  std::vector<Offer> offers;    // sorted by name; none is empty
  std::set<std::string> taken;  // uuids of devices that a row fits
  std::vector<Withheld> withheld;
  std::vector<std::string> notes;
};

// Applies tranche.policies: each row offers the devices that fit it, cut as it
// says. A device may be cut by several rows.
Cuts cut(const std::vector<WholeDevice>& devices, const std::vector<ResourcePolicy>& rows);

}  // namespace tranche
