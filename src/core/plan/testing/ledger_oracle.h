// SPDX-License-Identifier: Apache-2.0
//
// Detects what is promised twice, from the hardware and the promises alone.
#pragma once

#include <string>
#include <vector>

#include "core/gpu/inventory.h"

namespace tranche::core::ledger_life {

// A container's promise of one device, by the oracle's own account.
struct Promise {
  std::string device;  // uuid of a GPU or a MIG device
  bool whole = false;
  std::uint64_t bytes = 0;  // 0, and not whole: memory is not counted
};

struct Container {
  std::string resource;
  std::vector<std::string> ids;
  std::string uid;
  std::vector<Promise> promises;
  bool alive = true;
};

// The hardware, and what containers were promised of it. It knows nothing of offers and
// ledgers.
class Oracle {
 public:
  explicit Oracle(const Inventory& node) : node_(node) {}

  // Why this cannot be promised beside the other promises; empty: it can.
  std::string complaint(const std::vector<Container>& others, const Promise& wanted) const {
    std::uint64_t bytes = wanted.bytes;
    for (const Container& other : others) {
      if (!other.alive) continue;
      for (const Promise& promise : other.promises) {
        if (are_gpu_and_slice(promise.device, wanted.device)) {
          return wanted.device + " is the same hardware as " + promise.device + ", held by " +
                 other.uid;
        }
        if (promise.device != wanted.device) continue;
        if (promise.whole || wanted.whole) {
          return wanted.device + " is given whole beside " + other.uid;
        }
        if (wanted.bytes > 0 && promise.bytes == 0) {
          return "memory of " + wanted.device + " is given beside " + other.uid +
                 ", whose use is unknown";
        }
        bytes += promise.bytes;
      }
    }
    const std::uint64_t memory = memory_of(wanted.device);
    if (wanted.bytes == 0 || bytes <= memory) return {};
    return std::to_string(bytes >> 20) + " of " + std::to_string(memory >> 20) + " MiB of " +
           wanted.device + " are promised";
  }

 private:
  const Gpu* gpu_of(const std::string& slice) const {
    for (const Gpu& gpu : node_.gpus) {
      for (const MigDevice& mig : gpu.mig) {
        if (mig.uuid.text == slice) return &gpu;
      }
    }
    return nullptr;
  }

  bool are_gpu_and_slice(const std::string& one, const std::string& other) const {
    const Gpu* first = gpu_of(one);
    const Gpu* second = gpu_of(other);
    return (first != nullptr && first->uuid.text == other) ||
           (second != nullptr && second->uuid.text == one);
  }

  std::uint64_t memory_of(const std::string& device) const {
    for (const Gpu& gpu : node_.gpus) {
      if (gpu.uuid.text == device) return gpu.memory_bytes;
      for (const MigDevice& mig : gpu.mig) {
        if (mig.uuid.text == device) return mig.memory_bytes;
      }
    }
    return 0;
  }

  const Inventory& node_;
};

}  // namespace tranche::core::ledger_life
