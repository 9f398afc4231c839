// SPDX-License-Identifier: Apache-2.0
//
// The parts of host_files(); internal to this folder.
#pragma once

#include "testbed/node/host_files.h"

namespace tranche::testbed::sim {

void add_device_nodes(HostFiles& files, const World& world);
void add_proc(HostFiles& files, const World& world);
void add_sys(HostFiles& files, const World& world);
void add_driver_files(HostFiles& files, const World& world);

}  // namespace tranche::testbed::sim
