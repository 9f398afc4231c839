// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/transcript.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace tranche::testbed::standin {
namespace {

// More ids than this say nothing to a reader, and there can be 65,536.
constexpr std::size_t kMostIdsInText = 16;

std::string text_of(const IdList& ids) {
  const std::size_t shown = std::min(ids.size(), kMostIdsInText);
  std::string text =
      join(IdList(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(shown)), " ");
  if (shown < ids.size()) text += " and " + std::to_string(ids.size() - shown) + " more";
  return text;
}

std::string sorted_text_of(IdList ids) {
  std::ranges::sort(ids);
  return std::to_string(ids.size()) + " [" + text_of(ids) + "]";
}

std::string text_of(bool value) { return value ? "true" : "false"; }

std::string text_of(const ContainerResponse& response) {
  return "envs=" + std::to_string(response.envs.size()) +
         " mounts=" + std::to_string(response.mounts.size()) +
         " devices=" + std::to_string(response.devices.size()) +
         " annotations=" + std::to_string(response.annotations.size()) +
         " cdi_devices=" + std::to_string(response.cdi_devices.size());
}

// The call and its arguments.
std::string question_text(const Event& event) {
  switch (event.kind) {
    case EventKind::kRegister:
      return "Register " + event.resource + " endpoint=" + event.endpoint +
             " version=" + event.version;
    case EventKind::kGetDevicePluginOptions: return "GetDevicePluginOptions " + event.resource;
    case EventKind::kListAndWatchOpened:
    case EventKind::kListAndWatchReceived:
    case EventKind::kListAndWatchEnded:
      return "ListAndWatch " + event.resource + " endpoint=" + event.endpoint;
    case EventKind::kGetPreferredAllocation:
      return "GetPreferredAllocation " + event.resource +
             " available=" + std::to_string(event.available.size()) +
             " must=" + std::to_string(event.must_include.size()) +
             " size=" + std::to_string(event.size);
    case EventKind::kAllocate:
      return "Allocate " + event.resource + " devices=" + sorted_text_of(event.ids);
    case EventKind::kPreStartContainer:
      return "PreStartContainer " + event.resource + " devices=" + sorted_text_of(event.ids);
    case EventKind::kKubeletStarted: return "Started";
    case EventKind::kKubeletStopped: return "Stopped";
    case EventKind::kDisconnected:
      return "Disconnected " + event.resource + " endpoint=" + event.endpoint;
    case EventKind::kAdmitted: return "Admitted " + event.pod;
    case EventKind::kRejected: return "Rejected " + event.pod;
    case EventKind::kRemoved: return "Removed " + event.pod;
  }
  return "";
}

// The outcome of a call that went well.
std::string answer_text(const Event& event) {
  switch (event.kind) {
    case EventKind::kGetDevicePluginOptions:
      return "pre_start_required=" + text_of(event.options.pre_start_required) +
             " get_preferred_allocation_available=" +
             text_of(event.options.preferred_allocation_available);
    case EventKind::kListAndWatchOpened: return "opened";
    case EventKind::kListAndWatchReceived:
      return "devices=" + std::to_string(event.devices) +
             " healthy=" + std::to_string(event.healthy);
    case EventKind::kGetPreferredAllocation: return text_of(event.preferred);
    case EventKind::kAllocate: return text_of(event.response);
    default: return "OK";
  }
}

}  // namespace

bool is_call(const Event& event) { return event.kind <= EventKind::kPreStartContainer; }

std::string to_text(const Event& event) {
  const std::string question = question_text(event);
  if (!event.finished) return question + " -> …";
  if (!event.error.empty()) return question + " -> " + event.error;
  return is_call(event) ? question + " -> " + answer_text(event) : question;
}

Transcript::Number Transcript::begin(Event event) {
  Number number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++last_number_;
    events_.push_back(std::move(event));
    entries_.push_back({number, std::chrono::steady_clock::now()});
  }
  changed_.notify_all();
  return number;
}

void Transcript::finish(Number number, const std::function<void(Event&)>& complete) {
  const std::lock_guard one_at_a_time(sink_mutex_);
  Event finished;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = std::ranges::lower_bound(entries_, number, {}, &Entry::number);
    if (entry == entries_.end() || entry->number != number) return;
    Event& event = events_[static_cast<std::size_t>(entry - entries_.begin())];
    complete(event);
    event.finished = true;
    event.took = std::chrono::steady_clock::now() - entry->began;
    if (sink_) finished = event;
  }
  changed_.notify_all();
  if (sink_) sink_(finished);
}

void Transcript::add(Event event) {
  finish(begin(std::move(event)), [](Event&) {});
}

std::vector<Event> Transcript::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::vector<Event> Transcript::calls(EventKind kind) const {
  std::vector<Event> found = events();
  std::erase_if(found, [&](const Event& event) { return event.kind != kind; });
  return found;
}

std::vector<std::string> Transcript::lines() const {
  std::vector<std::string> lines;
  for (const Event& event : events()) lines.push_back(to_text(event));
  return lines;
}

void Transcript::clear() {
  const std::lock_guard lock(mutex_);
  std::vector<Event> events;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].finished) continue;
    events.push_back(std::move(events_[i]));
    entries.push_back(entries_[i]);
  }
  events_ = std::move(events);
  entries_ = std::move(entries);
}

bool Transcript::wait_until(const std::function<bool(const std::vector<Event>&)>& holds,
                            std::chrono::milliseconds patience) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return holds(events_); });
}

bool Transcript::wait_for(EventKind kind, std::size_t count,
                          std::chrono::milliseconds patience) const {
  return wait_until(
      [&](const std::vector<Event>& events) {
        const auto seen = std::ranges::count_if(
            events, [&](const Event& event) { return event.kind == kind && event.finished; });
        return static_cast<std::size_t>(seen) >= count;
      },
      patience);
}

}  // namespace tranche::testbed::standin
