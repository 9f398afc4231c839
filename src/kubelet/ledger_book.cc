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

std::vector<Holding> LedgerBook::to_confirm() const {
  const std::lock_guard lock(mutex_);
  return tranche::to_confirm(records_);
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
                         const std::function<Status(const Ledger&)>& check) {
  {
    const std::lock_guard lock(mutex_);
    if (!ledger_) {
      return Error{ErrorCode::kUnavailable,
                   "it is not known yet what other containers hold: neither the kubelet's "
                   "pod-resources service nor its checkpoint has answered"};
    }
    if (Status checked = check(*ledger_); !checked) return checked;
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
}

}  // namespace tranche
