// SPDX-License-Identifier: Apache-2.0
//
// When to register with the kubelet: a state machine over what is seen of it.
// A registration counts only once the kubelet has opened its stream, and only
// as long as the stream is there: the kubelet never opens it a second time by
// itself. Pure: no socket, no clock.
#pragma once

#include <chrono>
#include <string_view>

namespace tranche::node {

using RegistrationTime = std::chrono::steady_clock::time_point;

enum class RegistrationEvent {
  kKubeletCame,   // its socket appeared, or was found there
  kSocketGone,    // our socket was deleted under us
  kRivalEnded,    // another plugin that had registered our resource has ended
  kAccepted,      // the kubelet took our registration
  kRefused,       // it did not, or could not be reached
  kStreamOpened,  // it listens to our list
  kStreamsEnded,  // nobody does any more
  kTimePassed,    // nothing happened; time is looked at
};

enum class RegistrationPhase {
  kWaiting,    // for the kubelet to be there
  kDue,        // to be registered now
  kVerifying,  // registered; the stream is not there yet
  kUp,         // the stream is open
  kPausing,    // an attempt came to nothing; the next one is at `until`
};

struct Registration {
  RegistrationPhase phase = RegistrationPhase::kWaiting;
  unsigned failures = 0;   // in a row
  RegistrationTime until;  // the end of kVerifying and kPausing; in kUp, when it is trusted

  bool operator==(const Registration&) const = default;
};

Registration next(Registration state, RegistrationEvent event, RegistrationTime now);

std::string_view to_string(RegistrationPhase phase);

}  // namespace tranche::node
