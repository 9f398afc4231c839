// SPDX-License-Identifier: Apache-2.0
//
// Who of several may act: the holder of a Lease (coordination.k8s.io/v1). Decides what to write
// next; lease_holder.h writes it. Whether a lease has expired is judged by how long ago *we saw it
// change*, on our own monotonic clock: the times in it are the holder's, and clocks differ. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "kube/watch_event.h"

namespace tranche::kube {

struct LeaseTimes {
  std::chrono::seconds duration{15};  // a lease that did not change for so long is free
  // The holder stops acting so long after its last write.
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry{2'000};
};

struct LeaseRecord {
  std::string holder;
  unsigned duration_seconds = 0;
  std::string acquired;  // times are text: they are compared for equality only
  std::string renewed;
  unsigned transitions = 0;
  std::string resource_version;

  bool operator==(const LeaseRecord&) const = default;
};
// Fields that are missing or of another type are empty.
LeaseRecord lease_record(const Json& lease);
// The object to create.
Json lease_object(const std::string& space, const std::string& name, const LeaseRecord& record);
// The lease that was read, with our fields of `ours` in it; what others put there stays.
Json with_lease(Json read, const Json& ours);

class LeaseElection {
 public:
  using Clock = std::chrono::steady_clock;

  // The identity must be another for each process, also for the next pod of the same name. An
  // empty one never leads.
  LeaseElection(std::string identity, LeaseTimes times)
      : identity_(std::move(identity)), times_(times) {}

  // The lease as it was just read; empty: there is none.
  void saw(const std::optional<LeaseRecord>& record, Clock::time_point now);

  // What to write now; empty: another one holds it. `wall` is the time for the record, in
  // MicroTime form. `resource_version` empty means create.
  std::optional<LeaseRecord> next(Clock::time_point now, const std::string& wall) const;
  // That was written. `asked` is when the write began, because it counts from there.
  void wrote(const LeaseRecord& record, Clock::time_point asked);
  // The write was refused or got no answer: nothing is known until the lease is read again.
  void failed() { seen_.reset(), is_known_ = false; }
  bool is_known() const { return is_known_; }

  // Whether we may act.
  bool leads(Clock::time_point now) const;
  // As long as nothing is written again; empty: we do not lead.
  std::optional<Clock::time_point> leads_until() const;
  // The record that gives the lease up; empty: it is not ours.
  std::optional<LeaseRecord> release(const std::string& wall) const;

  // The holder as last seen, for people; empty: nobody, or not known.
  std::string holder() const { return seen_ ? seen_->holder : std::string(); }

 private:
  const std::string identity_;
  const LeaseTimes times_;
  std::optional<LeaseRecord> seen_;
  bool is_known_ = false;
  Clock::time_point changed_;                    // when we saw it change
  std::optional<LeaseRecord> last_;              // as it was then
  std::optional<Clock::time_point> renewed_at_;  // our last write that counted
};

}  // namespace tranche::kube
