// SPDX-License-Identifier: Apache-2.0
#include "testbed/driver/event_set.h"

#include <algorithm>

namespace tranche::testbed::sim {

void EventSet::add(Registration registration) {
  const std::lock_guard lock(mutex_);
  registrations_.push_back(std::move(registration));
}

std::vector<GpuUuid> EventSet::gpus() const {
  const std::lock_guard lock(mutex_);
  std::vector<GpuUuid> gpus;
  gpus.reserve(registrations_.size());
  for (const Registration& each : registrations_) gpus.push_back(each.gpu);
  return gpus;
}

std::optional<Event> EventSet::next(const World& world) {
  const std::lock_guard lock(mutex_);
  // Another world was put in place of this one, and counts from the beginning.
  if (world.next_number <= given_) {
    given_ = 0;
    for (Registration& each : registrations_) each.from = 0;
  }
  for (const Event& event : world.events) {
    if (event.number <= given_) continue;
    const bool wanted = std::ranges::any_of(registrations_, [&](const Registration& each) {
      return each.gpu == event.gpu && (each.types & event.type) != 0 && event.number >= each.from;
    });
    if (!wanted) continue;
    given_ = event.number;
    return event;
  }
  return std::nullopt;
}

void* EventSets::create() {
  auto set = std::make_shared<EventSet>();
  void* handle = set.get();
  const std::lock_guard lock(mutex_);
  sets_.emplace(handle, std::move(set));
  return handle;
}

bool EventSets::free(const void* handle) {
  const std::lock_guard lock(mutex_);
  return sets_.erase(handle) > 0;
}

std::shared_ptr<EventSet> EventSets::find(const void* handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(handle);
  return found == sets_.end() ? nullptr : found->second;
}

}  // namespace tranche::testbed::sim
