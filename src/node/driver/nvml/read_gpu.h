// SPDX-License-Identifier: Apache-2.0
//
// Reads one GPU from the driver. Plain calls; they may hang, so the caller runs them on its worker.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/gpu/gpu.h"
#include "core/health/driver_reading.h"
#include "node/driver/kernel_files.h"
#include "node/driver/nvml/read_mig.h"
#include "node/driver/nvml/session.h"

namespace tranche::node::nvml {

// The last reading of a GPU.
struct KnownGpu {
  Gpu gpu;
  std::vector<Slice> slices;  // of gpu.mig
  // Read completely in this session, and no event has reported a change since: then only values
  // that can change without an event are read again.
  bool is_current = false;
};
using KnownGpus = std::map<GpuUuid, KnownGpu>;

// What to read, and what is known.
struct GpuQuestion {
  unsigned index = 0;
  std::shared_ptr<const KnownGpus> known;
  bool read_whole = false;  // even if current
  // The set for its events. Null: none; then the reason, unless the library is too old.
  std::shared_ptr<const EventSet> events;
  std::string why_no_events;
  bool is_registered = false;  // in `events`
  ReadRequest request;
};

struct GpuAnswer {
  GpuReading reading;
  std::vector<Slice> slices;  // of reading.gpu
  // Nothing has to be read again.
  bool is_complete = false;
  abi::Device handle = nullptr;  // null: not found
  bool is_registered = false;
  // The card supports none of the values of read_card.h, so only the driver can notice its loss.
  bool is_unread = false;
};

GpuAnswer read_gpu(const Session& session, const KernelFiles& kernel, const GpuQuestion& question);

}  // namespace tranche::node::nvml
