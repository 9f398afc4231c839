// SPDX-License-Identifier: Apache-2.0
//
// What every function of the library does before its own work: is there a
// session, which world is it now, does a fault strike, which GPU or MIG device
// is meant and does it still answer. The functions then only translate.
//
// call() is for functions on no device, on_device() and its kin for those on
// one. A body may be run again when a call was blocked by a fault, but only
// its last run is answered with.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "node/driver/nvml/abi.h"
#include "testbed/driver/session.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

namespace abi = nvml::abi;

struct Call {
  Session& session;
  std::shared_ptr<LiveWorld> live;
  Snapshot snapshot;
  std::string_view function;

  const World& world() const { return *snapshot; }
  // The driver's branch, as this build of the library is able to be.
  unsigned branch() const;
};

// The device a call is about.
struct Target {
  Call& call;
  const Gpu& gpu;
  // Both set for a MIG device.
  const GpuInstance* gpu_instance = nullptr;
  const ComputeInstance* compute_instance = nullptr;

  bool is_mig() const { return compute_instance != nullptr; }
  const World& world() const { return call.world(); }
};

// How much of the GPU a call needs.
enum class Need {
  kRemembered,  // answered from the driver's memory, also of a GPU that it cannot reach
  kIdentity,    // answered even by a GPU that waits for its reset
  kWork,
};

abi::Return call(std::string_view function, const std::function<abi::Return(Call&)>& body) noexcept;

abi::Return on_device(std::string_view function, abi::Device device, Need need,
                      const std::function<abi::Return(Target&)>& body) noexcept;
// The same; a MIG device is answered with NOT_SUPPORTED.
abi::Return on_gpu(std::string_view function, abi::Device device, Need need,
                   const std::function<abi::Return(Target&)>& body) noexcept;
// The same; a whole GPU is answered with INVALID_ARGUMENT.
abi::Return on_mig_device(std::string_view function, abi::Device device,
                          const std::function<abi::Return(Target&)>& body) noexcept;
// About two GPUs; the second is not a Target because faults are the first's.
abi::Return on_pair(std::string_view function, abi::Device a, abi::Device b,
                    const std::function<abi::Return(Target&, const Gpu&)>& body) noexcept;

// For call()'s bodies that find their GPU themselves: whether a fault strikes
// that GPU, and whether the session can still reach it.
abi::Return reach(Call& call, const GpuUuid& uuid, const Gpu*& gpu);

// What nvmlInit and nvmlShutdown work on.
abi::Return with_session(const std::function<abi::Return(Session&)>& body) noexcept;

// A handle for it.
abi::Device handle_of(Call& call, const Gpu& gpu);
abi::Device handle_of(Call& call, const Gpu& gpu, const ComputeInstance& mig);

// Writes text with its final zero, or says that it does not fit.
abi::Return copy_text(std::string_view text, char* to, unsigned length);

// The pattern of functions that fill an array: `count` comes in as its size and
// goes out as the number there is. With no array, only the number is told.
template <typename T>
abi::Return copy_array(std::span<const T> from, unsigned* count, T* to) {
  if (count == nullptr) return abi::kInvalidArgument;
  const auto needed = static_cast<unsigned>(from.size());
  const unsigned room = to == nullptr ? 0 : *count;
  *count = needed;
  if (needed > room) return abi::kInsufficientSize;
  for (unsigned i = 0; i < needed; ++i) to[i] = from[i];
  return abi::kSuccess;
}

// Writes one answer, or says that there is nowhere to write it.
template <typename T, typename V>
abi::Return answer(T* to, V value) {
  if (to == nullptr) return abi::kInvalidArgument;
  *to = static_cast<T>(value);
  return abi::kSuccess;
}

}  // namespace tranche::testbed::sim
