// SPDX-License-Identifier: Apache-2.0
//
// What the driver says of one GPU, as values. Plain calls in a row; they may
// hang, so they are made where that does no harm.
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

// A GPU as it was last read.
struct KnownGpu {
  Gpu gpu;
  std::vector<Slice> slices;  // of gpu.mig
  // All of it was read in this session, and no event has said since that it
  // changed: then only what can change without an event is read again.
  bool is_current = false;
};
using KnownGpus = std::map<GpuUuid, KnownGpu>;

// What to read and what is known already.
struct GpuQuestion {
  unsigned index = 0;
  std::shared_ptr<const KnownGpus> known;
  bool read_whole = false;  // also where it is current
  // Where its events are to come from; null where there are none to be had, and
  // why, unless it is the library's age.
  std::shared_ptr<const EventSet> events;
  std::string why_no_events;
  bool is_registered = false;  // they do already
  ReadRequest request;
};

struct GpuAnswer {
  GpuReading reading;
  std::vector<Slice> slices;  // of reading.gpu
  // Nothing is left to be asked again at the next look.
  bool is_complete = false;
  abi::Device handle = nullptr;  // null where even that could not be had
  bool is_registered = false;
  // No value is to be had from the card, as far as we know any: whether it is still
  // there, only the driver can say.
  bool is_unread = false;
};

GpuAnswer read_gpu(const Session& session, const KernelFiles& host, const GpuQuestion& question);

}  // namespace tranche::node::nvml
