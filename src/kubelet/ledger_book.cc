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

LedgerBook::Sizes LedgerBook::sizes() const {
  const std::lock_guard lock(mutex_);
  return {records_.sizes, records_.offered, records_.offered_before};
}

void LedgerBook::recall(Sizes sizes) {
  const std::lock_guard lock(mutex_);
  records_.sizes = std::move(sizes.granted);
  records_.offered = std::move(sizes.offered);
  records_.offered_before = std::move(sizes.offered_before);
  records_.offered_at = std::chrono::steady_clock::now();
}

void LedgerBook::offer(const OfferedSizes& offered) {
  const std::lock_guard lock(mutex_);
  records_ = with_offer(std::move(records_), offered, std::chrono::steady_clock::now());
  renew();
}

void LedgerBook::learn(const LedgerReading& reading) {
  {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<const Ledger> before = ledger_;
    records_ = with_reading(std::move(records_), reading);
    renew();
    if (before == ledger_ || (before && ledger_ && *before == *ledger_)) return;
  }
  hooks_.changed();
}

Status LedgerBook::grant(const Grant& grant, const std::function<Status(const Ledger&)>& check) {
  {
    const std::lock_guard lock(mutex_);
    if (!ledger_) {
      if (!hooks_.has_sources()) return check({});
      return Error{ErrorCode::kUnavailable,
                   "it is not known yet what other containers hold: neither the kubelet's "
                   "pod-resources service nor its checkpoint has answered"};
    }
    if (Status checked = check(*ledger_); !checked) return checked;
    FreshGrant fresh{.resource = grant.resource,
                     .shares = {grant.shares.begin(), grant.shares.end()},
                     .at = std::chrono::steady_clock::now(),
                     .sizes = grant.sizes};
    std::ranges::sort(fresh.shares);
    records_ = with_grant(std::move(records_), std::move(fresh));
    renew();
  }
  hooks_.changed();
  return Done{};
}

// mutex_ is held.
void LedgerBook::renew() {
  if (!records_.is_known()) return;
  ledger_ = std::make_shared<const Ledger>(present(records_));
  known_.notify_all();
}

}  // namespace tranche
