// SPDX-License-Identifier: Apache-2.0
//
// What the driver says of one GPU, as values. Plain calls in a row; they may
// hang, so they are made where that does no harm.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "host/host_files.h"
#include "inventory/gpu_source.h"
#include "nvml/read_mig.h"
#include "nvml/session.h"

namespace tranche::nvml {

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
  ReadWish wish;
};

struct GpuAnswer {
  GpuReading reading;
  std::vector<Slice> slices;  // of reading.gpu
  // Nothing is left to be asked again at the next look.
  bool is_complete = false;
  abi::Device handle = nullptr;  // null where even that could not be had
  bool is_registered = false;
};

GpuAnswer read_gpu(const Session& session, const HostFiles& host, const GpuQuestion& question);

}  // namespace tranche::nvml
