// SPDX-License-Identifier: Apache-2.0
//
// Handles<T>: gives every value a pointer that stays the same and stays
// readable for as long as the library is loaded, and tells pointers it gave
// from those it did not. A client may hand us anything; nothing is followed
// that is not known here.
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace tranche::testbed::sim {

template <typename T>
class Handles {
 public:
  const T* give(const T& value) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<const T>& kept = values_[value];
    if (!kept) kept = std::make_unique<const T>(value);
    given_.insert(kept.get());
    return kept.get();
  }

  // The value behind a pointer, or null when it is not one of ours.
  const T* find(const void* pointer) const {
    const std::lock_guard lock(mutex_);
    const auto found = given_.find(pointer);
    return found == given_.end() ? nullptr : static_cast<const T*>(pointer);
  }

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<T, std::unique_ptr<const T>> values_;
  std::set<const void*> given_;
};

}  // namespace tranche::testbed::sim
