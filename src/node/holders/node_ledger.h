// SPDX-License-Identifier: Apache-2.0
//
// Everything about who holds what, in one place: the book that calls ask and
// write to, the keeper that reads the kubelet's sources into it, and what the
// calls share.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "apps/size_memory.h"
#include "base/log.h"
#include "kubelet/ledger_keeper.h"
#include "kubelet/node_access.h"
#include "kubelet/options.h"

namespace tranche {

class LedgerDesk {
 public:
  // `changed`: something else is held than before. `nudge` makes the kubelet
  // write its checkpoint. Both are called from any thread.
  // `sizes` has those of the agents before us, and keeps ours.
  LedgerDesk(const KubeletOptions& options, SizeMemory& sizes, std::function<void()> changed,
             std::function<void()> nudge, Log& log);

  // Until something is known, or the patience is over; not at all where there is
  // nobody to ask.
  void wait_until_known(std::chrono::milliseconds patience) const;

  // What is held. Null: it is not known.
  std::shared_ptr<const Ledger> ledger() const { return book_.get(); }
  // What is to be offered; before it is.
  void offer(const OfferedSizes& offered) { book_.offer(offered); }
  // Why no ledger can be kept here; empty: it can. Of the two sources, only
  // pod-resources makes the kubelet see that a pod has ended.
  std::string problem() const;
  LedgerSourcesStatus sources() const { return keeper_.status(); }
  NodeAccess access(HandedOff& handed_off) { return {book_, gate_, pods_, handed_off}; }

 private:
  const LedgerSourceOptions options_;
  LedgerBook book_;
  CallGate gate_;
  const PodResourcesClient pods_;
  LedgerKeeper keeper_;  // last: its thread uses the rest
};

}  // namespace tranche
