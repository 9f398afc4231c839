// SPDX-License-Identifier: Apache-2.0
//
// Says when the agent may call List of the kubelet's pod-resources service: while no call of the
// kubelet is open, and some time after the last one.
//
// The reason is a race in the kubelet (kubernetes PR 137534, open): List first frees the devices of
// pods that are not active, by counting again what the pods have. A pod that is being admitted has
// only a reservation and loses it; the next pod can get the same ids. A reservation lasts from
// before GetPreferredAllocation until after Allocate, and from one container and resource to the
// next, so the time right after a call counts, too.
//
// Some nodes are never quiet, for example where refused pods are recreated in a loop. There, a
// delayed List accepts less and less quiet time, because a ledger that is never read again would
// withhold shares that were freed long ago.
//
// Calls of the kubelet never wait for a List, so a call may still arrive during one. That window is
// a few milliseconds every few seconds, and no plugin can close it.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

namespace tranche::node {

// Required quiet time before a List; halved after each `patience` of delay.
std::chrono::milliseconds least_quiet(std::chrono::milliseconds quiet,
                                      std::chrono::milliseconds delay,
                                      std::chrono::milliseconds patience);

class CallGate {
 public:
  using Clock = std::chrono::steady_clock;

  // Lives while a call is being answered. The gate must outlive it.
  class Call {
   public:
    explicit Call(CallGate& gate) : gate_(gate) { gate_.begin(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { gate_.end(); }

   private:
    CallGate& gate_;
  };

  // Time until a List may begin if no call arrives. Empty: a call is open.
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
