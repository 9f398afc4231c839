// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/registration.h"

#include <algorithm>

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using Phase = RegistrationPhase;

// The kubelet opens the stream right after it accepted the registration.
constexpr milliseconds kPatienceForStream{5000};
// The late end of an older stream cannot end a stream that lives this long.
constexpr milliseconds kTrusted{10'000};
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{10'000};

Registration failed(Registration state, RegistrationTime now) {
  const auto pause = std::min(kFirstPause * (1 << std::min(state.failures, 10U)), kLongestPause);
  return {Phase::kPausing, state.failures + 1, now + pause};
}

Registration after_time(Registration state, RegistrationTime now) {
  if (now < state.until) return state;
  switch (state.phase) {
    case Phase::kVerifying: return failed(state, now);
    case Phase::kPausing: return {Phase::kDue, state.failures, {}};
    case Phase::kUp: return {Phase::kUp, 0, state.until};
    case Phase::kWaiting:
    case Phase::kDue: return state;
  }
  return state;
}

}  // namespace

Registration next(Registration state, RegistrationEvent event, RegistrationTime now) {
  switch (event) {
    case RegistrationEvent::kKubeletCame:
      // A kubelet that has just started does not know us.
      return {Phase::kDue, 0, {}};
    case RegistrationEvent::kSocketGone:
    // Our stream is still open, but the kubelet counts none of our devices: it uses the last
    // registration of the resource, and that plugin has ended.
    case RegistrationEvent::kRivalEnded:
      return state.phase == Phase::kWaiting ? state : Registration{Phase::kDue, state.failures, {}};
    case RegistrationEvent::kAccepted:
      // The kubelet may open the stream before its answer reaches us.
      if (state.phase == Phase::kUp) return state;
      return {Phase::kVerifying, state.failures, now + kPatienceForStream};
    case RegistrationEvent::kRefused: return failed(state, now);
    case RegistrationEvent::kStreamOpened:
      if (state.phase == Phase::kWaiting) return state;
      return {Phase::kUp, state.failures, now + kTrusted};
    case RegistrationEvent::kStreamsEnded:
      return state.phase == Phase::kUp ? failed(state, now) : state;
    case RegistrationEvent::kTimePassed: return after_time(state, now);
  }
  return state;
}

std::string_view to_string(RegistrationPhase phase) {
  switch (phase) {
    case Phase::kWaiting: return "waiting for the kubelet";
    case Phase::kDue: return "registering";
    case Phase::kVerifying: return "registered, waiting for ListAndWatch";
    case Phase::kUp: return "registered";
    case Phase::kPausing: return "not registered, retrying";
  }
  return "?";
}

}  // namespace tranche::node
