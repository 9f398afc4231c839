// SPDX-License-Identifier: Apache-2.0
#include "kube/event_book.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/shortened.h"

namespace tranche::kube {
namespace {

constexpr std::size_t kMostNote = 1024;  // the API server refuses more
constexpr std::size_t kMostName = 253;

std::string path_of(const std::string& space) {
  return "/apis/events.k8s.io/v1/namespaces/" + url_escaped(space) + "/events";
}

// Of an object's name as much as fits: a part of a name has dots only inside.
std::string name_of(const std::string& object, const std::string& tag) {
  std::string start = object.substr(0, kMostName - tag.size() - 1);
  while (start.ends_with('.') || start.ends_with('-')) start.pop_back();
  return start + "." + tag;
}

}  // namespace

std::optional<Request> EventBook::note(const Event& event, const Moment& moment) {
  forget_old(moment.now);
  const std::string note = shortened(event.note, kMostNote);
  const Key key{event.regarding, event.reason, event.subject, note};
  const auto found = known_.find(key);
  if (found != known_.end()) {
    Known& known = found->second;
    ++known.count;
    known.last_seen = moment.wall;
    // The first repeat at once: it may follow an event that says the opposite.
    if (known.count > 2 && moment.now < known.written_at + window_) return std::nullopt;
    return series(known, moment);
  }
  if (known_.size() >= kMostKnown) return std::nullopt;  // a storm: these say enough
  const auto is_alike = [&](const auto& each) {
    const auto& [regarding, reason, subject, other] = each.first;
    return std::tie(regarding, reason, subject) ==
           std::tie(event.regarding, event.reason, event.subject);
  };
  if (std::ranges::count_if(known_, is_alike) >= kMostNotes) return std::nullopt;
  // Events about objects without a namespace are in "default", where kubectl looks for them.
  const Known known{.space = event.regarding.space.empty() ? "default" : event.regarding.space,
                    .name = name_of(event.regarding.name, moment.name_tag),
                    .note = note,
                    .written_at = moment.now,
                    .last_seen = moment.wall};
  known_.emplace(key, known);
  return create(event, known, moment.wall);
}

void EventBook::lost(const Request& request) {
  std::erase_if(known_, [&](const auto& each) {
    const Known& known = each.second;
    const std::string path = path_of(known.space);
    // A new event has its name in the body, a series in the path.
    return request.target == path + "/" + url_escaped(known.name) ||
           (request.target == path &&
            request.body.find(Json(known.name).dump()) != std::string::npos);
  });
}

std::vector<Request> EventBook::due(const Moment& moment) {
  std::vector<Request> requests;
  for (auto& [key, known] : known_) {
    if (known.count > known.written && moment.now >= known.written_at + window_) {
      requests.push_back(series(known, moment));
    }
  }
  forget_old(moment.now);
  return requests;
}

std::optional<EventBook::Clock::time_point> EventBook::next_due() const {
  std::optional<Clock::time_point> next;
  for (const auto& [key, known] : known_) {
    if (known.count == known.written) continue;
    const Clock::time_point due = known.written_at + window_;
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

// A series that stood still for a whole window is over; the same thing later is a new event.
void EventBook::forget_old(Clock::time_point now) {
  std::erase_if(known_, [&](const auto& each) {
    const Known& known = each.second;
    return known.count == known.written && now >= known.written_at + window_;
  });
}

Request EventBook::create(const Event& event, const Known& known, const std::string& wall) const {
  const ObjectReference& about = event.regarding;
  Json regarding{{"apiVersion", about.api_version}, {"kind", about.kind}, {"name", about.name}};
  if (!about.space.empty()) regarding["namespace"] = about.space;
  if (!about.uid.empty()) regarding["uid"] = about.uid;
  const Json body{{"apiVersion", "events.k8s.io/v1"},
                  {"kind", "Event"},
                  {"metadata", {{"namespace", known.space}, {"name", known.name}}},
                  {"eventTime", wall},
                  {"type", event.is_warning ? "Warning" : "Normal"},
                  {"reason", event.reason},
                  {"action", event.action},
                  {"note", known.note},
                  {"regarding", regarding},
                  {"reportingController", reporter_.controller},
                  {"reportingInstance", reporter_.instance}};
  return {.verb = Verb::kPost,
          .target = path_of(known.space),
          .content_type = kJson,
          .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Request EventBook::series(Known& known, const Moment& moment) {
  known.written = known.count;
  known.written_at = moment.now;
  const Json patch{{"series", {{"count", known.count}, {"lastObservedTime", known.last_seen}}}};
  return {.verb = Verb::kPatch,
          .target = path_of(known.space) + "/" + url_escaped(known.name),
          .content_type = kMergePatch,
          .body = patch.dump()};
}

std::string micro_time(std::chrono::system_clock::time_point when) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(when);
  const auto days = std::chrono::floor<std::chrono::days>(micros);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss time(micros - days);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

}  // namespace tranche::kube
