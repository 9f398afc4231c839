// SPDX-License-Identifier: Apache-2.0
#include "kube/lease_election.h"

#include <utility>

namespace tranche::kube {
namespace {

constexpr std::uint64_t kMostSeconds = 1'000'000'000;

unsigned small_number_at(const Json& json, const char* key) {
  return static_cast<unsigned>(number_at(json, key, kMostSeconds));
}

}  // namespace

LeaseRecord lease_record(const Json& lease) {
  LeaseRecord record{.resource_version = resource_version_of(lease)};
  const Json* spec = member(lease, "spec");
  if (spec == nullptr) return record;
  record.holder = text_at(*spec, "holderIdentity");
  record.duration_seconds = small_number_at(*spec, "leaseDurationSeconds");
  record.acquired = text_at(*spec, "acquireTime");
  record.renewed = text_at(*spec, "renewTime");
  record.transitions = small_number_at(*spec, "leaseTransitions");
  return record;
}

Json lease_object(const std::string& space, const std::string& name, const LeaseRecord& record) {
  Json lease{{"apiVersion", "coordination.k8s.io/v1"},
             {"kind", "Lease"},
             {"metadata", {{"namespace", space}, {"name", name}}},
             {"spec",
              {{"leaseDurationSeconds", record.duration_seconds},
               {"acquireTime", record.acquired},
               {"renewTime", record.renewed},
               {"leaseTransitions", record.transitions}}}};
  // The API server refuses an empty one.
  if (!record.holder.empty()) lease["spec"]["holderIdentity"] = record.holder;
  if (!record.resource_version.empty()) {
    lease["metadata"]["resourceVersion"] = record.resource_version;
  }
  return lease;
}

Json with_lease(Json read, const Json& ours) {
  if (!read.is_object()) return ours;
  read["metadata"]["resourceVersion"] = resource_version_of(ours);
  Json& spec = read["spec"];
  spec.erase("holderIdentity");
  spec.update(ours["spec"]);
  return read;
}

void LeaseElection::saw(const std::optional<LeaseRecord>& record, Clock::time_point now) {
  const bool is_same = last_ == record && changed_ != Clock::time_point{};
  if (!is_same) changed_ = now;
  last_ = record;
  seen_ = record;
  is_known_ = true;
  // Somebody else took it: we must not count on our own last write.
  if (!record || record->holder != identity_) renewed_at_.reset();
}

std::optional<LeaseRecord> LeaseElection::next(Clock::time_point now,
                                               const std::string& wall) const {
  if (!is_known_ || identity_.empty()) return std::nullopt;
  LeaseRecord wanted{.holder = identity_,
                     .duration_seconds = static_cast<unsigned>(times_.duration.count()),
                     .acquired = wall,
                     .renewed = wall};
  if (!seen_) return wanted;
  wanted.resource_version = seen_->resource_version;
  wanted.transitions = seen_->transitions;
  if (seen_->holder == identity_) {
    wanted.acquired = seen_->acquired;
    return wanted;
  }
  // The API allows a lease without a duration.
  const auto lasts = seen_->duration_seconds == 0 ? times_.duration
                                                  : std::chrono::seconds(seen_->duration_seconds);
  if (!seen_->holder.empty() && now < changed_ + lasts) return std::nullopt;
  ++wanted.transitions;
  return wanted;
}

void LeaseElection::wrote(const LeaseRecord& record, Clock::time_point asked) {
  if (last_ != record) changed_ = asked;
  last_ = record;
  seen_ = record;
  is_known_ = true;
  renewed_at_ = record.holder == identity_ ? std::optional(asked) : std::nullopt;
}

bool LeaseElection::leads(Clock::time_point now) const {
  const auto until = leads_until();
  return until && now < *until;
}

std::optional<LeaseElection::Clock::time_point> LeaseElection::leads_until() const {
  if (!renewed_at_) return std::nullopt;
  return *renewed_at_ + times_.renew_deadline;
}

std::optional<LeaseRecord> LeaseElection::release(const std::string& wall) const {
  if (!seen_ || seen_->holder != identity_) return std::nullopt;
  LeaseRecord empty = *seen_;
  empty.holder.clear();
  empty.duration_seconds = 1;
  empty.renewed = wall;
  return empty;
}

}  // namespace tranche::kube
