// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "gpu/gpu.h"
#include "host/host_files.h"
#include "nvml/session.h"

namespace tranche::nvml {

struct MigReading {
  bool enabled = false;
  std::vector<MigDevice> devices;  // sorted by index
  // The call that failed, where one did.
  const char* function = "";
  abi::Return code = abi::kSuccess;
};

// The MIG devices on a GPU. `gpu` is what is known of it: memory and minor are
// used, and slices that it had and still has are not asked about again.
MigReading read_mig(const Session& session, const HostFiles& host, abi::Device handle,
                    const Gpu& gpu);

// What a GPU instance's profile adds to the name: "+me", "-me", … The argument
// is the driver's number for profile queries, not the profile's id.
const char* mig_attribute(unsigned profile);

}  // namespace tranche::nvml
