// SPDX-License-Identifier: Apache-2.0
//
// The scanner reads the driver periodically, folds the readings into the node's state and publishes
// the inventory when it changed. It is the only user of the driver; everything else reads the last
// inventory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/health/node_state.h"
#include "core/health/release.h"
#include "core/settings/health_options.h"
#include "node/driver/fault_memory_file.h"
#include "node/driver/gpu_numbers_file.h"
#include "node/driver/gpu_source.h"
#include "node/driver/kernel_files.h"
#include "node/driver/kernel_log.h"
#include "os/log.h"

namespace tranche::node {

class Scanner {
 public:
  using OnInventory = std::function<void(const Inventory&)>;

  // `memory_file` keeps open faults over a restart; the file of the GPU numbers is beside it. All
  // references must outlive the scanner. Calls `on_inventory` on the scanning thread.
  Scanner(GpuSource& source, KernelFiles kernel, std::string memory_file, Log& log,
          OnInventory on_inventory);

  // Recalls faults and scans for the first time. The error says why the driver cannot be read.
  Status begin(const HealthOptions& options);

  // Says why another part of the agent has the driver open; empty: none has. Called on the
  // scanning thread while the driver is released, because it is not closed until then. Set before
  // run().
  void set_other_users(std::function<std::string()> still_open) {
    other_users_ = std::move(still_open);
  }

  // Scans until asked to stop.
  void run(const std::stop_token& stop);

  // One scan: opens the driver if necessary, reads, folds, publishes.
  Status scan_once();

  // From any thread; carried out within half a second unless a driver call hangs.
  void set_options(const HealthOptions& options);
  // Closes the driver, for these GPUs or for all if none is named, until resume(), also over a
  // restart. Both return a number for wait_for().
  std::uint64_t release(std::vector<GpuUuid> gpus);
  std::uint64_t resume();
  // Whether a release is in force or requested.
  bool is_released() const;
  // Waits until the request is done: the driver is closed, or was read again. Empty: it is done;
  // else the reason for the delay.
  std::string wait_for(std::uint64_t request, std::chrono::milliseconds at_most);
  // Ends every wait_for(), for good.
  void end_waits();
  // Why a release would not survive a restart; empty: it does.
  std::string release_not_kept() const;
  // Unbinds these GPU numbers; the next scan binds them by the driver's index.
  void forget_numbers(std::set<unsigned> numbers);

  // Whether XIDs are read from the kernel's log; settled once begun.
  bool follows_kernel_log() const { return kernel_log_.has_value(); }

 private:
  struct Requests {
    std::optional<HealthOptions> options;
    std::optional<std::vector<GpuUuid>> release;
    bool resume = false;
    std::set<unsigned> forget;

    bool any() const { return options || release || resume || !forget.empty(); }
  };

  void recall_numbers();
  bool recall_release();
  ReleaseMemory unknown_release(const Error& why);
  void keep_release(const std::vector<GpuUuid>& gpus);
  void end_release();
  void note_done();
  void log_number_changes(const GpuNumbers& before);
  void take_requests();
  bool has_requests();
  void wait_for_request(const std::stop_token& stop, std::chrono::milliseconds at_most);
  Status ensure_open();
  void drop_driver(const Error& error);
  void refresh_session();
  void publish();
  Surroundings surroundings() const;
  // Waits for the next scan; ends early when there is news.
  void watch(const std::stop_token& stop, std::chrono::milliseconds period);
  bool fold_driver_events(std::chrono::milliseconds at_most, const std::stop_token& stop);
  bool fold_kernel_log();
  bool fold(const KernelXid& line);
  std::vector<KernelXid> fold_lines_before(const DriverReading& reading);
  void fold_reading(const DriverReading& reading);
  void fold(const DriverEvent& event, std::string_view source);

  GpuSource& source_;
  const KernelFiles kernel_;
  Log& log_;
  const OnInventory on_inventory_;
  std::function<std::string()> other_users_;

  // Used by the scanning thread only.
  NodeState state_;
  HealthOptions options_;
  Inventory shown_;
  GpuNumbersFile numbers_file_;
  const std::string release_file_;
  FaultMemoryFile memory_;
  std::optional<KernelLog> kernel_log_;
  std::optional<ReleaseMemory> release_;
  std::uint64_t taken_ = 0;  // last request seen by take_requests()
  OnChange logged_;
  bool is_open_ = false;
  std::string gpu_set_;  // the kernel's at the time of open
  unsigned scans_ = 0;
  bool has_events_ = false;
  // Events may have been missed since the last reading: then all XIDs of the kernel's log count.
  bool was_blind_ = true;
  bool has_read_ = false;              // in the open session
  std::vector<KernelXid> held_lines_;  // from before it
  std::chrono::milliseconds trouble_pause_{};
  std::chrono::steady_clock::time_point next_fresh_session_;
  std::chrono::milliseconds fresh_session_pause_{};

  mutable std::mutex mutex_;
  std::condition_variable_any requested_;
  std::condition_variable done_;
  // Guarded by mutex_.
  Requests requests_;
  std::uint64_t asked_ = 0;
  std::uint64_t done_until_ = 0;
  bool is_released_ = false;
  bool are_waits_over_ = false;
  std::string still_open_;  // while released
  std::string not_kept_;
};

}  // namespace tranche::node
