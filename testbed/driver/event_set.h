// SPDX-License-Identifier: Apache-2.0
//
// Event sets: who waits for which events of which GPUs. Every set gets its own
// copy of an event, and only those that were raised after it registered.
//
// EventSets and EventSet are thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "testbed/world/world.h"

namespace tranche::testbed::sim {

class EventSet {
 public:
  struct Registration {
    GpuUuid gpu;
    std::uint64_t types = 0;
    std::uint64_t from = 0;  // number of the first event that counts
  };

  void add(Registration registration);
  std::vector<GpuUuid> gpus() const;

  // The oldest event of the world that this set was not given yet.
  std::optional<Event> next(const World& world);

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Registration> registrations_;
  std::uint64_t given_ = 0;  // number of the last one
};

class EventSets {
 public:
  // The pointer that a client knows the set by.
  void* create();
  bool free(const void* handle);
  // Null: no set of ours, or freed.
  std::shared_ptr<EventSet> find(const void* handle) const;

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<const void*, std::shared_ptr<EventSet>> sets_;
};

}  // namespace tranche::testbed::sim
