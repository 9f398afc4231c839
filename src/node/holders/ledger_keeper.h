// SPDX-License-Identifier: Apache-2.0
//
// Reads the kubelet's two sources of who holds what, and hands the readings on:
// the checkpoint as soon as it is written, pod-resources every few seconds and
// soon after a grant, but never while one of our calls is open (call_gate.h). It
// decides nothing about what they mean: that is ledger/records.h.
//
// It also makes the kubelet write its checkpoint where somebody wants to know
// whether what only the checkpoint has is still true. Seen on kubelets 1.33 and
// 1.36: an ended pod stays in the file until the kubelet writes it again after a
// List; so a nudge (any list of devices) is worth something only while the file
// is older than the last List, and the write after it is the answer.
//
// What is held of other plugins' resources is read too: it may be of a GPU of ours.
// Nothing is read while the folder of pod-resources has never been there: by the
// checkpoint alone, what pods that have ended held would count for ever.
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
    // What containers hold, by the kubelet's pod-resources service.
    std::function<Result<std::vector<Holding>>(const std::stop_token&)> list;
    std::function<void(LedgerReading)> publish;
    // Whether it should be found out if what only the checkpoint has is held.
    std::function<bool()> wants_confirmation;
    // Sends the kubelet a list of devices, so that it writes its checkpoint.
    std::function<void()> nudge;
  };

  LedgerKeeper(LedgerSourceOptions options, Hooks hooks, const CallGate& gate, Log& log);
  LedgerKeeper(const LedgerKeeper&) = delete;
  LedgerKeeper& operator=(const LedgerKeeper&) = delete;
  ~LedgerKeeper();

  void start();

  // There is something to see, such as a grant: List as soon as that may be.
  void look_soon();

  LedgerSourcesStatus status() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  void run(const std::stop_token& stop);
  // Reads what is due, and says how long nothing will be.
  Milliseconds look(const std::stop_token& stop);
  void read(bool lists, const std::stop_token& stop);
  std::optional<std::vector<Holding>> list(const std::stop_token& stop);
  std::optional<std::vector<Holding>> checkpoint();
  bool has_checkpoint_changed();
  // Says when it wants to be called again, where a nudge is wanted and it is too
  // early for one.
  std::optional<Milliseconds> nudge_if_wanted();
  void note(SourceStatus LedgerSourcesStatus::* source, const std::string& name,
            const std::optional<Error>& error);

  const LedgerSourceOptions options_;
  const Hooks hooks_;
  const CallGate& gate_;
  Log& log_;
  WakeFd wake_;

  // Of the keeper's thread.
  std::optional<DirectoryWatch> folder_;
  Clock::time_point next_list_ = Clock::now();
  Clock::time_point next_nudge_;
  Clock::time_point checkpoint_read_at_;
  std::optional<FileIdentity> checkpoint_read_;  // when it was last read without an error
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
