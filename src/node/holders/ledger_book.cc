// SPDX-License-Identifier: Apache-2.0
#include "node/holders/ledger_book.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/sharing/share_id.h"

namespace tranche::node {

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
  return tranche::node::to_confirm(records_);
}

LedgerBook::LedgerBook(Hooks hooks, LedgerSizes recalled)
    : hooks_(std::move(hooks)), kept_(std::move(recalled)) {
  records_.sizes = kept_.granted;
  records_.offered = kept_.offered;
  records_.offered_before = kept_.offered_before;
  records_.offered_at = std::chrono::steady_clock::now();
}

LedgerSizes LedgerBook::sizes() const {
  const std::lock_guard lock(mutex_);
  return {records_.sizes, records_.offered, records_.offered_before};
}

void LedgerBook::offer(const OfferedSizes& offered) {
  const std::lock_guard lock(mutex_);
  records_ = with_offer(std::move(records_), offered, std::chrono::steady_clock::now());
  renew();
  // The hook logs a failure to write; offering goes on.
  static_cast<void>(keep(records_));
}

// mutex_ is held.
Status LedgerBook::keep(const Records& records) {
  LedgerSizes now{records.sizes, records.offered, records.offered_before};
  if (now == kept_) return Done{};
  if (Status kept = hooks_.keep(now); !kept) return kept;
  kept_ = std::move(now);
  return Done{};
}

// mutex_ is held. The file has the size of the share's last holder, and after a restart it would
// count for the new one. A share that is not in the file has the offered size.
bool LedgerBook::differs_from_file(const FreshGrant& grant) const {
  const auto kept = kept_.granted.find(grant.resource);
  if (kept == kept_.granted.end()) return false;
  return std::ranges::any_of(grant.shares, [&](const std::string& share) {
    const auto size = kept->second.find(share);
    if (size == kept->second.end()) return false;
    const auto parsed = parse_share_id(share);
    const auto now = parsed ? grant.sizes.find(parsed->device) : grant.sizes.end();
    return now == grant.sizes.end() || now->second != size->second;
  });
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
    std::unique_lock lock(mutex_);
    if (!ledger_ && !hooks_.has_sources()) return check({});
    // When agent and kubelet start together, the first reading comes within a moment.
    known_.wait_for(lock, kSourcePatience, [this] { return ledger_ != nullptr; });
    if (!ledger_) {
      return Error{ErrorCode::kUnavailable,
                   "unknown which devices other containers hold: neither the kubelet's "
                   "pod-resources service nor its checkpoint has answered"};
    }
    if (Status checked = check(*ledger_); !checked) return checked;
    FreshGrant fresh{.resource = grant.resource,
                     .shares = {grant.shares.begin(), grant.shares.end()},
                     .at = std::chrono::steady_clock::now(),
                     .sizes = grant.sizes};
    std::ranges::sort(fresh.shares);
    if (differs_from_file(fresh)) {
      Records next = with_grant(records_, std::move(fresh));
      if (Status kept = keep(next); !kept) {
        return kept.error().in("saving the size of the grant");
      }
      records_ = std::move(next);
    } else {
      records_ = with_grant(std::move(records_), std::move(fresh));
    }
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

}  // namespace tranche::node
