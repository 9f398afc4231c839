// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "core/health/xid_policy.h"

namespace tranche::core {

struct HealthOptions {
  XidPolicy xids;
  // Poll interval for GPUs without events.
  std::chrono::milliseconds interval = std::chrono::seconds(5);

  bool operator==(const HealthOptions&) const = default;
};

}  // namespace tranche::core
