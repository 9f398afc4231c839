// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

// What the container runtime gets from the responses of a container's
// resources. Where two give the same variable, path or annotation the first
// one wins, and the kubelet only logs that the other was dropped. CDI names
// come once each. Pure.
ContainerResponse merge_responses(const std::vector<ContainerResponse>& responses);

}  // namespace tranche::testbed::standin
