// SPDX-License-Identifier: Apache-2.0
//
// The one ledger of the node, shared by the calls about all resources: what
// the kubelet's sources say and what was granted since. To ask and to write
// down is one step, so that two calls cannot both get the last of a GPU.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_sizes.h"
#include "core/ledger/records.h"

namespace tranche::node {

class LedgerBook {
 public:
  static constexpr std::chrono::seconds kSourcePatience{1};

  struct Hooks {
    // What is held has changed. Called from any thread.
    std::function<void()> changed;
    // Whether the kubelet has a source that will say what is held, though it may not
    // have answered yet.
    std::function<bool()> has_sources;
    // Writes the sizes to a file that outlives us. Called with the book locked, so that an
    // older value never replaces a newer one.
    std::function<Status(const LedgerSizes&)> keep;
  };
  // `recalled`: what an agent before us kept.
  LedgerBook(Hooks hooks, LedgerSizes recalled);

  // Until get() is not null, or the patience is over.
  void wait_until_known(std::chrono::milliseconds patience) const;

  // What is held. Null while no source has ever answered: unknown is not empty.
  std::shared_ptr<const Ledger> get() const;

  // What only the checkpoint has; see records.h.
  std::vector<Holding> to_confirm() const;

  void learn(const LedgerReading& reading);

  // What is offered from now on, with the sizes of all shares kept before it is.
  void offer(const OfferedSizes& offered);
  LedgerSizes sizes() const;

  // One container's grant.
  struct Grant {
    std::string resource;
    std::vector<std::string_view> shares;
    OfferedSizes::mapped_type sizes;  // of one share, by device
  };
  // Writes the grant down, if `check` has nothing against it. A source that has yet to say
  // what is held is waited for, and after kSourcePatience that is an error; where there is
  // none, nobody would ever say that the grant has ended, so it is checked and not written
  // down.
  Status grant(const Grant& grant, const std::function<Status(const Ledger&)>& check);

 private:
  void renew();
  bool contradicts_what_is_kept(const FreshGrant& grant) const;
  Status keep(const Records& records);

  const Hooks hooks_;
  mutable std::mutex mutex_;
  mutable std::condition_variable known_;
  // Guarded by mutex_.
  Records records_;
  std::shared_ptr<const Ledger> ledger_;
  LedgerSizes kept_;  // in the file
};

}  // namespace tranche::node
