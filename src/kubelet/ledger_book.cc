// SPDX-License-Identifier: Apache-2.0
#include "kubelet/ledger_book.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tranche {

std::shared_ptr<const Ledger> LedgerBook::get() const {
  const std::lock_guard lock(mutex_);
  return ledger_;
}

void LedgerBook::wait_until_known(std::chrono::milliseconds patience) const {
  std::unique_lock lock(mutex_);
  known_.wait_for(lock, patience, [this] { return ledger_ != nullptr; });
}

std::vector<Holding> LedgerBook::to_confirm() const {
  const std::lock_guard lock(mutex_);
  return tranche::to_confirm(records_);
}

void LedgerBook::forget() {
  const std::lock_guard lock(mutex_);
  records_ = {};
  ledger_.reset();
}

void LedgerBook::learn(const LedgerReading& reading) {
  {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<const Ledger> before = ledger_;
    records_ = with_reading(std::move(records_), reading);
    renew();
    if (before == ledger_ || (before && ledger_ && *before == *ledger_)) return;
  }
  changed_();
}

Status LedgerBook::grant(const std::string& resource, const std::vector<std::string_view>& shares,
                         bool must_be_known, const std::function<Status(const Ledger&)>& check) {
  {
    const std::lock_guard lock(mutex_);
    if (!ledger_ && must_be_known) {
      return Error{ErrorCode::kUnavailable,
                   "it is not known yet what other containers hold: neither the kubelet's "
                   "pod-resources service nor its checkpoint has answered"};
    }
    if (Status checked = check(ledger_ ? *ledger_ : Ledger{}); !checked) return checked;
    FreshGrant grant{.resource = resource,
                     .shares = {shares.begin(), shares.end()},
                     .at = std::chrono::steady_clock::now()};
    std::ranges::sort(grant.shares);
    records_ = with_grant(std::move(records_), std::move(grant));
    renew();
  }
  changed_();
  return Done{};
}

// mutex_ is held.
void LedgerBook::renew() {
  if (!records_.pod_resources && !records_.checkpoint) return;
  ledger_ = std::make_shared<const Ledger>(present(records_));
  known_.notify_all();
}

}  // namespace tranche
