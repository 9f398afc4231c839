// SPDX-License-Identifier: Apache-2.0
//
// Encodes our values as the kubelet's messages.
#pragma once

#include <string>

#include "core/grant/grant.h"
#include "core/plan/device_list.h"
#include "deviceplugin_v1beta1.pb.h"

namespace tranche::node {

// A ListAndWatchResponse in wire format, ordered by device, then by replica. Bytes instead of a
// message: with 50,000 devices its objects take more memory than the rest of the agent.
std::string encode(const DeviceList& list);
void encode(const ContainerGrant& grant, v1beta1::ContainerAllocateResponse& message);

}  // namespace tranche::node
