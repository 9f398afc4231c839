// SPDX-License-Identifier: Apache-2.0
//
// Environment, mounts and device nodes in the convention of each supported plugin: one
// function per convention. enforcement.h adds what limits the container to its share,
// whatever the convention. Pure.
#pragma once

#include "base/result.h"
#include "core/grant/grant.h"
#include "core/grant/request.h"

namespace tranche::core {

// For NVIDIA's runtime or CDI, as the device list strategies say.
Result<ContainerGrant> nvidia_grant(const GrantRequest& request);

// Device nodes and a folder with the driver's files, and no variable, as Google's plugin and
// Deepomatic's fork of it do. Through CDI if that is the only strategy.
Result<ContainerGrant> node_grant(const GrantRequest& request);

// As NVIDIA's, and the variables from which programs read their share under GPUShare.
Result<ContainerGrant> gpushare_grant(const GrantRequest& request);

// For a container that is itself a node of a nested cluster: as NVIDIA's, but it may see
// all GPUs of the node, and a variable names its own.
Result<ContainerGrant> nested_host_grant(const GrantRequest& request);

}  // namespace tranche::core
