// SPDX-License-Identifier: Apache-2.0
//
// Our values as the kubelet's messages.
#pragma once

#include "deviceplugin_v1beta1.pb.h"
#include "grant/grant.h"
#include "kubelet/device_list.h"

namespace tranche {

// Ids in order: by device, then by replica number.
void encode(const DeviceList& list, v1beta1::ListAndWatchResponse& message);
void encode(const ContainerGrant& grant, v1beta1::ContainerAllocateResponse& message);

}  // namespace tranche
