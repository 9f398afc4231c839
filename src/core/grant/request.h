// SPDX-License-Identifier: Apache-2.0
//
// An allocation request, read from the kubelet's share ids: which devices, and how many
// shares of each. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/grant/node_facts.h"
#include "core/settings/grant_options.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

struct HeldDevice {
  const OfferedDevice* device = nullptr;  // never null; points into the offer
  unsigned shares = 0;

  // Memory of these shares; 0: not counted.
  std::uint64_t bytes() const { return shares * device->share_bytes; }
  // At least 1, because a limit of 0 would mean no limit.
  std::uint64_t mib() const;
};

// The input of a grant.
struct GrantRequest {
  const Offer& offer;
  const GrantOptions& options;
  const NodeFacts& facts;
  std::vector<HeldDevice> devices;  // each once, in the offer's order; at least one

  unsigned shares() const;
};

// Refuses ids that the offer does not have, that are given twice or that are unhealthy.
// placement/fit.h decides which of them may go together.
Result<GrantRequest> read_request(const Offer& offer, const GrantOptions& options,
                                  const NodeFacts& facts, const std::vector<std::string_view>& ids);

// The request is invalid.
Error refusal(const Offer& offer, const std::string& why);
// The request is valid, but the node cannot fulfil it now.
Error unavailable(const Offer& offer, const std::string& why);

// "GPU 3 (GPU-8f1c…)" or "MIG device 3:1 (MIG-c8b1…)", as messages name it.
std::string describe(const OfferedDevice& device);

}  // namespace tranche::core
