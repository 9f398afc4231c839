// SPDX-License-Identifier: Apache-2.0
//
// What the driver says of one GPU, as values. Plain calls in a row; they may
// hang, so they are made where that does no harm.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/gpu.h"
#include "host/host_files.h"
#include "inventory/gpu_source.h"
#include "nvml/session.h"

namespace tranche::nvml {

// What to read and what is known already.
struct GpuQuestion {
  unsigned index = 0;
  // Last time's answer: what never changes is not asked again while the uuid is
  // the same.
  std::optional<Gpu> known;
  // It is of this session: between two, a GPU can get another device node.
  bool is_of_this_session = false;
  // Where its events are to come from; null where there are none to be had, and
  // why, unless it is the library's age.
  std::shared_ptr<const EventSet> events;
  std::string why_no_events;
  bool is_registered = false;  // they do already
  ReadWish wish;
};

struct GpuAnswer {
  GpuReading reading;
  abi::Device handle = nullptr;  // null where even that could not be had
  bool is_registered = false;
};

GpuAnswer read_gpu(const Session& session, const HostFiles& host, const GpuQuestion& question);

}  // namespace tranche::nvml
