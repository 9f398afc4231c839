// SPDX-License-Identifier: Apache-2.0
//
// Decides when to register with the kubelet. A registration counts only while the kubelet's stream
// is open, because the kubelet never opens it a second time by itself. Pure state machine: no
// socket, no clock.
#pragma once

#include <chrono>
#include <string_view>

namespace tranche::node {

using RegistrationTime = std::chrono::steady_clock::time_point;

enum class RegistrationEvent {
  kKubeletCame,   // its socket appeared or exists
  kSocketGone,    // our socket was deleted
  kRivalEnded,    // another plugin that had registered our resource has ended
  kAccepted,      // the kubelet accepted our registration
  kRefused,       // it did not, or cannot be reached
  kStreamOpened,  // ListAndWatch
  kStreamsEnded,  // no stream is open any more
  kTimePassed,    // no other event
};

enum class RegistrationPhase {
  kWaiting,    // for the kubelet to start
  kDue,        // register now
  kVerifying,  // registered; no stream yet
  kUp,         // the stream is open
  kPausing,    // an attempt failed; the next one is at `until`
};

struct Registration {
  RegistrationPhase phase = RegistrationPhase::kWaiting;
  unsigned failures = 0;   // in a row
  RegistrationTime until;  // end of kVerifying and kPausing; in kUp, start of trust

  bool operator==(const Registration&) const = default;
};

Registration next(Registration state, RegistrationEvent event, RegistrationTime now);

std::string_view to_string(RegistrationPhase phase);

}  // namespace tranche::node
