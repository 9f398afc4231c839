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
  struct Hooks {
    // What is held has changed. Called from any thread.
    std::function<void()> changed;
    // Whether the kubelet has a source that will say what is held, though it may not
    // have answered yet.
    std::function<bool()> has_sources;
  };
  explicit LedgerBook(Hooks hooks) : hooks_(std::move(hooks)) {}

  // Until get() is not null, or the patience is over.
  void wait_until_known(std::chrono::milliseconds patience) const;

  // What is held. Null while no source has ever answered: unknown is not empty.
  std::shared_ptr<const Ledger> get() const;

  // What only the checkpoint has; see records.h.
  std::vector<Holding> to_confirm() const;

  void learn(const LedgerReading& reading);

  // The sizes of shares, for a file that outlives us.
  struct Sizes {
    GrantedSizes granted;
    OfferedSizes offered;
    OfferedSizes offered_before;

    bool operator==(const Sizes&) const = default;
  };
  Sizes sizes() const;
  // What an agent before us wrote down; before anything else is called.
  void recall(Sizes sizes);
  // What is offered from now on.
  void offer(const OfferedSizes& offered);

  // One container's grant.
  struct Grant {
    std::string resource;
    std::vector<std::string_view> shares;
    OfferedSizes::mapped_type sizes;  // of one share, by device
  };
  // Writes the grant down, if `check` has nothing against it. Where a source has yet to
  // say what is held, that is an error; where there is none, nobody would ever say that
  // the grant has ended, so it is checked and not written down.
  Status grant(const Grant& grant, const std::function<Status(const Ledger&)>& check);

 private:
  void renew();

  const Hooks hooks_;
  mutable std::mutex mutex_;
  mutable std::condition_variable known_;
  // Guarded by mutex_.
  Records records_;
  std::shared_ptr<const Ledger> ledger_;
};

}  // namespace tranche
