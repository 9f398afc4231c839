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
#include "ledger/ledger.h"
#include "ledger/records.h"

namespace tranche {

class LedgerBook {
 public:
  // `changed` is called, from any thread, when what is held has changed.
  explicit LedgerBook(std::function<void()> changed) : changed_(std::move(changed)) {}

  // Until get() is not null, or the patience is over.
  void wait_until_known(std::chrono::milliseconds patience) const;

  // What is held. Null while no source has ever answered: unknown is not empty.
  std::shared_ptr<const Ledger> get() const;

  // What only the checkpoint has; see records.h.
  std::vector<Holding> to_confirm() const;

  void learn(const LedgerReading& reading);
  // As at the beginning: nothing is known.
  void forget();

  // Writes the shares down as granted, if `check` has nothing against it. Where
  // nothing is known and it must be, that is an error.
  Status grant(const std::string& resource, const std::vector<std::string_view>& shares,
               bool must_be_known, const std::function<Status(const Ledger&)>& check);

 private:
  void renew();

  const std::function<void()> changed_;
  mutable std::mutex mutex_;
  mutable std::condition_variable known_;
  // Guarded by mutex_.
  Records records_;
  std::shared_ptr<const Ledger> ledger_;
};

}  // namespace tranche
