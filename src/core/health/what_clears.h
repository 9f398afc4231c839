// SPDX-License-Identifier: Apache-2.0
//
// The remedy for a fault in one short sentence for people: what to do or to wait for. Pure;
// docs/health.md has the details.
#pragma once

#include <string>

#include "core/health/fault.h"

namespace tranche::core {

// "a reset of the GPU or a reboot of the node"; reads well after "cleared by: ".
std::string what_clears(const Fault& fault);

}  // namespace tranche::core
