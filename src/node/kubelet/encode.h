// SPDX-License-Identifier: Apache-2.0
//
// Our values as the kubelet's messages.
#pragma once

#include <string>

#include "core/grant/grant.h"
#include "core/plan/device_list.h"
#include "deviceplugin_v1beta1.pb.h"

namespace tranche::node {

// A ListAndWatchResponse as it is on the wire. Ids in order: by device, then by
// replica number. Bytes and not a message: with 50,000 devices the objects of
// one take more memory than the rest of the agent.
std::string encode(const DeviceList& list);
void encode(const ContainerGrant& grant, v1beta1::ContainerAllocateResponse& message);

}  // namespace tranche::node
