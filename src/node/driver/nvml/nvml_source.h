// SPDX-License-Identifier: Apache-2.0
//
// Reads GPUs with the driver's library. Every call runs on a thread that can be left behind: a GPU
// whose call does not return is reported as hung and skipped until it does; the others are still
// read.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/settings/driver_options.h"
#include "node/driver/gpu_source.h"
#include "node/driver/kernel_files.h"
#include "node/driver/nvml/memory_limits.h"
#include "node/driver/nvml/read_gpu.h"
#include "node/driver/nvml/session.h"
#include "os/log.h"
#include "os/patient_caller.h"

namespace tranche::node::nvml {

class NvmlSource final : public GpuSource {
 public:
  NvmlSource(DriverOptions options, KernelFiles kernel, Log& log);

  Status open() override;
  void close() override;
  std::string still_open() const override;
  Result<DriverReading> read(const ReadRequest& request) override;
  Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) override;
  void stop_waiting() override { stop_waiting_.request_stop(); }

 private:
  // The GPU at an index of this session; another session may have another GPU there.
  struct Place {
    std::optional<GpuUuid> gpu;  // empty: unknown
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
  Result<std::vector<GpuQuestion>> questions(const ReadRequest& request);
  Result<unsigned> count();
  void renew_events();
  GpuReading ask(const GpuQuestion& question);
  std::optional<GpuAnswer> ask_once(const GpuQuestion& question);
  std::optional<Gpu> known_at(const Place& place) const;
  void forget_unnamed_gpus();
  void mark_changed(const std::optional<GpuUuid>& gpu);
  void read_versions();
  void ask_for_limits(DriverReading& reading);
  void log_unread(const GpuUuid& gpu, bool is_unread);
  void read_topology_if_changed(const std::vector<GpuReading>& readings);
  DriverEvent translate(const abi::EventData& data) const;

  const DriverOptions options_;
  const KernelFiles kernel_;
  Log& log_;
  PatientCaller caller_;
  std::stop_source stop_waiting_;

  std::shared_ptr<const Session> session_;
  std::uint64_t session_number_ = 0;
  // Null: no events; then the reason, unless the library is too old.
  std::shared_ptr<const EventSet> events_;
  std::string why_no_events_;
  std::map<unsigned, Place> places_;  // by index
  KnownGpus known_;
  // Calls that concern no single GPU and have not returned.
  StuckCall stuck_;
  StuckCall stuck_wait_;
  StuckCall stuck_topology_;
  Versions versions_;
  MemoryLimitsInquiry limits_;
  Topology topology_;
  bool topology_is_read_ = false;
  OnChange logged_;
};

}  // namespace tranche::node::nvml
