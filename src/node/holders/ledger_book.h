// SPDX-License-Identifier: Apache-2.0
//
// The one ledger of the node, used by the calls of all resources: the kubelet's records and the
// grants since. Checking and recording a grant are one step, so that two calls cannot both get the
// last share of a GPU.
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
    // The ledger changed. Called from any thread.
    std::function<void()> changed;
    // Whether the kubelet has an allocation source, even if it has not answered yet.
    std::function<bool()> has_sources;
    // Saves the sizes in a file. Called with the book locked, so that an older value never replaces
    // a newer one.
    std::function<Status(const LedgerSizes&)> keep;
  };
  // `recalled`: the sizes that the previous agent saved.
  LedgerBook(Hooks hooks, LedgerSizes recalled);

  // Waits until get() is not null, at most `patience`.
  void wait_until_known(std::chrono::milliseconds patience) const;

  // Null while no source has ever answered: unknown is not empty.
  std::shared_ptr<const Ledger> get() const;

  // Holdings that only the checkpoint has; see records.h.
  std::vector<Holding> to_confirm() const;

  void learn(const LedgerReading& reading);

  // Records and saves the sizes of the shares; call before offering them.
  void offer(const OfferedSizes& offered);
  LedgerSizes sizes() const;

  // One container's grant.
  struct Grant {
    std::string resource;
    std::vector<std::string_view> shares;
    OfferedSizes::mapped_type sizes;  // of one share, by device
  };
  // Records the grant if `check` succeeds. Waits up to kSourcePatience for the first answer of a
  // source; without one, returns an error. Where there is no source, only checks: nothing would
  // ever report the end of the grant.
  Status grant(const Grant& grant, const std::function<Status(const Ledger&)>& check);

 private:
  void renew();
  bool differs_from_file(const FreshGrant& grant) const;
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
