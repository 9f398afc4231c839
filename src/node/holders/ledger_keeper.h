// SPDX-License-Identifier: Apache-2.0
//
// Reads the kubelet's two allocation sources and publishes the readings: the checkpoint as soon as
// it is written, pod-resources every few seconds and soon after a grant, but never while a call of
// the kubelet is open (call_gate.h). ledger/records.h interprets the readings.
//
// It also makes the kubelet write its checkpoint when holdings that only the checkpoint has need
// confirmation. Seen on kubelets 1.33 and 1.36: an ended pod stays in the file until the kubelet
// writes it again after a List. So a nudge (any device list) helps only while the file is older
// than the last List, and the write after it is the answer.
//
// Holdings of other plugins' resources are read too: they may be of one of our GPUs. Nothing is
// read while the folder of pod-resources has never existed: with the checkpoint alone, ended pods
// would hold their devices for ever.
//
// Thread-safe. The hooks are called from the keeper's own thread, one at a time,
// and must not call back into it, except for look_soon().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/ledger/records.h"
#include "node/holders/call_gate.h"
#include "node/holders/ledger_sources.h"
#include "os/directory_watch.h"
#include "os/file_identity.h"
#include "os/log.h"
#include "os/wake_fd.h"

namespace tranche::node {

class LedgerKeeper {
 public:
  struct Hooks {
    // Calls List of the kubelet's pod-resources service.
    std::function<Result<std::vector<Holding>>(const std::stop_token&)> list;
    std::function<void(LedgerReading)> publish;
    // Whether to confirm holdings that only the checkpoint has.
    std::function<bool()> wants_confirmation;
    // Sends the kubelet a device list, so that it writes its checkpoint.
    std::function<void()> nudge;
  };

  LedgerKeeper(LedgerSourceOptions options, Hooks hooks, const CallGate& gate, Log& log);
  LedgerKeeper(const LedgerKeeper&) = delete;
  LedgerKeeper& operator=(const LedgerKeeper&) = delete;
  ~LedgerKeeper();

  void start();

  // Calls List as soon as possible, for example after a grant.
  void look_soon();

  LedgerSourcesStatus status() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  void run(const std::stop_token& stop);
  // Reads what is due; returns the time until the next reading.
  Milliseconds look(const std::stop_token& stop);
  void read(bool lists, const std::stop_token& stop);
  std::optional<std::vector<Holding>> list(const std::stop_token& stop);
  std::optional<std::vector<Holding>> checkpoint();
  bool has_checkpoint_changed();
  // Returns when to call it again if it is too early for a wanted nudge.
  std::optional<Milliseconds> nudge_if_wanted();
  void note(SourceStatus LedgerSourcesStatus::* source, const std::string& name,
            const std::optional<Error>& error);

  const LedgerSourceOptions options_;
  const Hooks hooks_;
  const CallGate& gate_;
  Log& log_;
  WakeFd wake_;

  // Used by the keeper's thread only.
  std::optional<DirectoryWatch> folder_;
  Clock::time_point next_list_ = Clock::now();
  Clock::time_point next_nudge_;
  Clock::time_point checkpoint_read_at_;
  std::optional<FileIdentity> checkpoint_read_;  // at the last successful read
  std::optional<FileIdentity> checkpoint_at_list_;
  bool has_listed_ = false;
  bool was_mounted_ = false;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  bool is_soon_ = true;
  LedgerSourcesStatus status_;

  std::jthread thread_;
};

}  // namespace tranche::node
