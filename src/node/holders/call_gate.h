// SPDX-License-Identifier: Apache-2.0
//
// Tells when the kubelet's pod-resources service may be asked for its List: while
// none of our calls is open, and none ended a moment ago.
//
// The reason is a race in the kubelet (kubernetes PR 137534, open): List first
// frees the devices of pods that are not active, by counting anew what the pods
// have. A pod that is being admitted has nothing yet, only a reservation, and
// loses it; the next pod can be given the same ids. A reservation lasts from
// before GetPreferredAllocation until after Allocate, and from one container and
// resource to the next, so the moment after a call counts, too.
//
// On a node that is never quiet, such as one that is sent pods which it refuses over
// and over, a List that is put off is content with less and less quiet: a ledger
// that is never read again would withhold what has long been given back.
//
// Nobody waits here: a call of the kubelet's is never kept for a List, which
// leaves a List that has just begun when a call comes. That is a few milliseconds
// every few seconds, and no plugin can close it.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

namespace tranche::node {

// How long it must have been quiet for a List that has been put off for so long: it
// is halved each time that `patience` is over.
std::chrono::milliseconds least_quiet(std::chrono::milliseconds quiet,
                                      std::chrono::milliseconds put_off,
                                      std::chrono::milliseconds patience);

class CallGate {
 public:
  using Clock = std::chrono::steady_clock;

  // Exists as long as a call is being answered. The gate must outlive it.
  class Call {
   public:
    explicit Call(CallGate& gate) : gate_(gate) { gate_.begin(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { gate_.end(); }

   private:
    CallGate& gate_;
  };

  // How long until a List may begin, if no call comes: zero where it may now.
  // Empty while a call is open.
  std::optional<std::chrono::milliseconds> time_until_quiet(std::chrono::milliseconds quiet) const;

 private:
  void begin();
  void end();

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  int open_ = 0;
  std::optional<Clock::time_point> last_end_;
};

}  // namespace tranche::node
