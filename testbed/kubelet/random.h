// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's sets are Go maps, which are walked in random order. Here the
// order is random too, but the same for the same seed.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

namespace tranche::testbed::standin {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // The container's elements in random order. Not std::shuffle: its result
  // differs between standard libraries.
  template <typename Elements>
  std::vector<typename Elements::value_type> shuffled(const Elements& elements) {
    std::vector<typename Elements::value_type> list(elements.begin(), elements.end());
    const std::lock_guard lock(mutex_);
    for (std::size_t left = list.size(); left > 1; --left) {
      std::swap(list[left - 1], list[static_cast<std::size_t>(engine_() % left)]);
    }
    return list;
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;  // guarded by mutex_
};

}  // namespace tranche::testbed::standin
