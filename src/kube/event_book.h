// SPDX-License-Identifier: Apache-2.0
//
// Which events to write. A new text about a subject is written at once, and so is its first repeat;
// further repeats within ten minutes are counted and written as a series at most once in that time.
// So a fault that flaps all night is a handful of objects. Pure: the caller brings the time and
// writes.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kube/request.h"
#include "kube/watch_event.h"

namespace tranche::kube {

// What an event is about.
struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string space;  // namespace; empty: of the whole cluster
  std::string name;
  std::string uid;

  auto operator<=>(const ObjectReference&) const = default;
};

struct Event {
  ObjectReference regarding;
  bool is_warning = false;
  std::string reason;  // "GpuUnhealthy"
  std::string action;  // "Monitor"
  // The part of the object, such as a device: repeats are counted for each.
  std::string subject;
  std::string note;  // for people

  bool operator==(const Event&) const = default;
};

class EventBook {
 public:
  using Clock = std::chrono::steady_clock;

  struct Reporter {
    std::string controller;  // "tranche.dev/device-plugin"
    std::string instance;    // the node
  };
  struct Moment {
    Clock::time_point now;
    std::string wall;      // MicroTime
    std::string name_tag;  // makes the name of a new event unique
  };

  static constexpr std::chrono::minutes kWindow{10};
  static constexpr std::size_t kMostKnown = 1024;
  static constexpr std::ptrdiff_t kMostNotes = 10;  // different ones of a subject, in a window

  explicit EventBook(Reporter reporter, std::chrono::milliseconds window = kWindow)
      : reporter_(std::move(reporter)), window_(window) {}

  // The request that the event needs now; empty: it was counted.
  std::optional<Request> note(const Event& event, const Moment& moment);
  // The request was refused or got no answer: a new event is made next time.
  void lost(const Request& request);
  // Series whose count has grown and whose time has come.
  std::vector<Request> due(const Moment& moment);
  // The earliest of these.
  std::optional<Clock::time_point> next_due() const;

 private:
  struct Known {
    std::string space;
    std::string name;
    std::string note;
    unsigned count = 1;
    unsigned written = 1;
    Clock::time_point written_at;
    std::string last_seen;  // MicroTime
  };
  // And the reason, the subject and the note.
  using Key = std::tuple<ObjectReference, std::string, std::string, std::string>;

  Request create(const Event& event, const Known& known, const std::string& wall) const;
  static Request series(Known& known, const Moment& moment);
  void forget_old(Clock::time_point now);

  const Reporter reporter_;
  const std::chrono::milliseconds window_;
  std::map<Key, Known> known_;
};

// The time as Kubernetes' MicroTime: "2026-11-18T00:24:55.123456Z".
std::string micro_time(std::chrono::system_clock::time_point when);

}  // namespace tranche::kube
