// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvml/session.h"

namespace tranche::nvml {

// Whether the driver can hold a control group to a limit of GPU memory: the
// library has the function, and a GPU, asked for the limits of a group, does
// not call it unsupported. Nothing is set. Plain calls; they may hang.
bool limits_memory(const Session& session);

}  // namespace tranche::nvml
