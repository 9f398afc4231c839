// SPDX-License-Identifier: Apache-2.0
//
// Whose words a container is told of its devices in: one function for each
// system whose users we serve. What holds the container to its share is added
// by enforcement.h, whatever the dialect. Pure.
#pragma once

#include "base/result.h"
#include "grant/grant.h"
#include "grant/request.h"

namespace tranche {

// For NVIDIA's runtime or CDI, as the device list strategies say.
Result<ContainerGrant> nvidia_grant(const GrantRequest& request);

// Device nodes and a folder with the driver's files; no variable at all, as
// Google's plugin and Deepomatic's fork of it do. Through CDI where that is
// the only way asked for.
Result<ContainerGrant> node_grant(const GrantRequest& request);

// As NVIDIA's, and what a program of GPUShare's users reads of its share.
Result<ContainerGrant> gpushare_grant(const GrantRequest& request);

// For a container that is itself a node of a nested cluster: as NVIDIA's, but it
// may see all GPUs of the node, and is told which are its own.
Result<ContainerGrant> nested_host_grant(const GrantRequest& request);

}  // namespace tranche
