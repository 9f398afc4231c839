// SPDX-License-Identifier: Apache-2.0
//
// The node's ledger: the book that the kubelet's calls use, and the keeper that reads the kubelet's
// sources into it. Without gRPC, so that its locks run under ThreadSanitizer.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/settings/kubelet_options.h"
#include "node/holders/call_gate.h"
#include "node/holders/ledger_book.h"
#include "node/holders/ledger_keeper.h"
#include "node/holders/size_memory.h"
#include "os/log.h"

namespace tranche::node {

class NodeLedger {
 public:
  // Called from any thread.
  struct Hooks {
    std::function<void()> changed;  // the ledger changed
    std::function<void()> nudge;    // make the kubelet write its checkpoint
    // Calls List of the kubelet's pod-resources service.
    std::function<Result<std::vector<Holding>>(const std::stop_token&)> list;
  };
  // `sizes` has the sizes that earlier agents saved, and saves ours.
  NodeLedger(const KubeletOptions& options, SizeMemory& sizes, Hooks hooks, Log& log);

  // Waits until the ledger is known, at most `patience`; not at all if there is no source.
  void wait_until_known(std::chrono::milliseconds patience) const;

  // Null: unknown.
  std::shared_ptr<const Ledger> ledger() const { return book_.get(); }
  // Records the sizes; call before offering.
  void offer(const OfferedSizes& offered) { book_.offer(offered); }
  // Why no ledger can be kept here; empty: it can. Of the two sources, only pod-resources makes the
  // kubelet notice that a pod has ended.
  std::string problem() const;
  // Why ledger() is null or has no pod names; empty: it has them.
  std::string unknown_reason() const;
  // Calls List as soon as possible.
  void look_soon() { keeper_.look_soon(); }

  LedgerBook& book() { return book_; }
  CallGate& gate() { return gate_; }

 private:
  const LedgerSourceOptions options_;
  LedgerBook book_;
  CallGate gate_;
  LedgerKeeper keeper_;  // last: its thread uses the rest
};

}  // namespace tranche::node
