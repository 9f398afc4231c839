// SPDX-License-Identifier: Apache-2.0
//
// GPUs as the driver's library tells of them. Every call is made on a thread
// that can be left behind: a GPU whose call does not come back is reported as
// hung and left out until it does, and the others go on being read.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/patient_caller.h"
#include "host/host_files.h"
#include "inventory/gpu_source.h"
#include "nvml/options.h"
#include "nvml/read_gpu.h"
#include "nvml/session.h"

namespace tranche::nvml {

class NvmlSource final : public GpuSource {
 public:
  NvmlSource(DriverOptions options, HostFiles host, Log& log);

  Status open() override;
  void close() override;
  Result<DriverReading> read(const ReadWish& wish) override;
  Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) override;

 private:
  // The GPU at an index of this session. Another session can have others there.
  struct Place {
    std::optional<GpuUuid> gpu;  // empty: it has not said who it is
    abi::Device handle = nullptr;
    bool is_registered = false;
    StuckCall stuck;
    std::string stuck_where;
  };
  struct Versions {
    std::string driver;
    std::string cuda;
  };

  std::string library_path() const;
  Result<std::vector<GpuQuestion>> questions(const ReadWish& wish);
  Result<unsigned> count();
  void renew_events();
  GpuReading ask(const GpuQuestion& question);
  std::optional<GpuAnswer> ask_once(const GpuQuestion& question);
  std::optional<Gpu> known_at(const Place& place) const;
  void forget_unnamed_gpus();
  void mark_changed(const std::optional<GpuUuid>& gpu);
  void read_versions();
  void ask_for_limits();
  void read_topology_if_changed(const std::vector<GpuReading>& readings);
  DriverEvent translate(const abi::EventData& data) const;

  const DriverOptions options_;
  const HostFiles host_;
  Log& log_;
  PatientCaller caller_;

  std::shared_ptr<const Session> session_;
  std::uint64_t session_number_ = 0;
  // Null where there are none; then the reason, unless the library is too old.
  std::shared_ptr<const EventSet> events_;
  std::string why_no_events_;
  std::map<unsigned, Place> places_;  // by index
  KnownGpus known_;
  // Calls about the driver as a whole that have not come back.
  StuckCall stuck_;
  StuckCall stuck_wait_;
  StuckCall stuck_topology_;
  StuckCall stuck_limits_;
  Versions versions_;
  bool limits_memory_ = false;
  Topology topology_;
  bool topology_is_read_ = false;
  OnChange said_;
};

}  // namespace tranche::nvml
