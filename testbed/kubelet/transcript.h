// SPDX-License-Identifier: Apache-2.0
//
// What passed between the kubelet and its plugins, in order: every call with
// its arguments and its outcome, and between them what happened to the kubelet
// and its pods. As values for tests, and as text to compare with the transcript
// of another kubelet.
//
// Thread-safe. An event takes its place when it begins, so a call that is made
// while another is answered comes after it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

enum class EventKind {
  // Calls. These come first: is_call() relies on it.
  kRegister,
  kGetDevicePluginOptions,
  kListAndWatchOpened,
  kListAndWatchReceived,
  kListAndWatchEnded,
  kGetPreferredAllocation,
  kAllocate,
  kPreStartContainer,
  // Not calls.
  kKubeletStarted,
  kKubeletStopped,
  kDisconnected,  // the kubelet closed a connection
  kAdmitted,
  kRejected,
  kRemoved,
};

struct Event {
  EventKind kind = EventKind::kRegister;
  std::string resource;
  std::string endpoint;  // the socket's file name
  std::string version;   // Register
  std::string pod;       // "namespace/name", of admissions and removals

  IdList available;     // GetPreferredAllocation
  IdList must_include;  // GetPreferredAllocation
  std::int64_t size = 0;
  IdList ids;  // sent with Allocate and PreStartContainer, in that order

  bool finished = false;
  std::string error;                // of a call, or why a pod was rejected; empty: none
  PluginOptions options;            // answer of GetDevicePluginOptions
  std::size_t devices = 0;          // of a list
  std::size_t healthy = 0;          // of a list
  IdList preferred;                 // answer of GetPreferredAllocation
  ContainerResponse response;       // answer of Allocate
  std::chrono::nanoseconds took{};  // from begin to finish
};

bool is_call(const Event& event);

// "GetPreferredAllocation nvidia.com/gpu available=8 must=0 size=2 -> a b".
// Ids that went out in random order are sorted.
std::string to_text(const Event& event);

class Transcript {
 public:
  // Gets each event when it is finished, one at a time.
  using Sink = std::function<void(const Event&)>;
  using Number = std::uint64_t;

  Transcript() = default;
  explicit Transcript(Sink sink) : sink_(std::move(sink)) {}

  Number begin(Event event);
  // `complete` writes the outcome into the event.
  void finish(Number number, const std::function<void(Event&)>& complete);
  void add(Event event);

  std::vector<Event> events() const;
  std::vector<Event> calls(EventKind kind) const;
  std::vector<std::string> lines() const;

  // Forgets what is finished; numbers given out stay valid.
  void clear();

  // Waits until `holds` is true of the events, or patience is over. `holds`
  // runs with the transcript locked and must not use it.
  bool wait_until(const std::function<bool(const std::vector<Event>&)>& holds,
                  std::chrono::milliseconds patience) const;

  // Waits for at least `count` finished events of the kind.
  bool wait_for(EventKind kind, std::size_t count, std::chrono::milliseconds patience) const;

 private:
  struct Entry {
    Number number = 0;
    std::chrono::steady_clock::time_point began;
  };

  const Sink sink_;
  std::mutex sink_mutex_;  // held around sink_, taken before mutex_
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_. entries_[i] belongs to events_[i].
  std::vector<Event> events_;
  std::vector<Entry> entries_;
  Number last_number_ = 0;
};

}  // namespace tranche::testbed::standin
