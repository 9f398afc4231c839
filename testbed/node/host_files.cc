// SPDX-License-Identifier: Apache-2.0
#include "testbed/node/host_files.h"

#include "testbed/node/host_file_parts.h"

namespace tranche::testbed::sim {

HostFiles host_files(const World& world) {
  HostFiles files;
  add_device_nodes(files, world);
  add_proc(files, world);
  add_sys(files, world);
  add_driver_files(files, world);
  return files;
}

}  // namespace tranche::testbed::sim
