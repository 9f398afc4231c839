// SPDX-License-Identifier: Apache-2.0
//
// The ways to pass a device to a container. A convention chooses among them. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/grant/grant.h"
#include "core/grant/request.h"

namespace tranche::core {

// The devices' names, by the id strategy.
std::vector<std::string> device_names(const GrantRequest& request);

// With CDI as the only strategy, its specification has the device nodes.
bool only_by_cdi(const DeviceListStrategy& list);

// The names that CDI specifications resolve; nothing where no strategy is CDI.
Status add_cdi(const GrantRequest& request, ContainerGrant& grant);

// The control nodes, the devices' own and the IMEX channels', each once.
void add_nodes(const GrantRequest& request, const std::string& permissions, ContainerGrant& grant);

// The folder with the driver's files, if one is configured.
void add_driver_mount(const GrantRequest& request, ContainerGrant& grant);

}  // namespace tranche::core
