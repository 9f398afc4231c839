// SPDX-License-Identifier: Apache-2.0
//
// PatientCaller makes calls that may never return. A driver call can block for ever when a card
// falls off the bus; such a call keeps its thread, which is abandoned and replaced.
//
// Not thread-safe: one thread calls. The work runs on another thread and, when abandoned,
// outlives the caller: it must own what it touches.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace tranche::os {

// The name of the threads that make calls.
inline constexpr const char* kPatientThread = "patient-caller";

// Reports whether an abandoned call has returned after all.
class StuckCall {
 public:
  StuckCall() = default;
  explicit StuckCall(std::shared_ptr<const std::atomic<bool>> finished)
      : finished_(std::move(finished)) {}

  // True while the call has not returned.
  bool is_stuck() const { return finished_ && !finished_->load(); }

 private:
  std::shared_ptr<const std::atomic<bool>> finished_;
};

// Number of abandoned calls of this process that have not returned.
int calls_left_behind();

class PatientCaller {
 public:
  PatientCaller() = default;
  PatientCaller(const PatientCaller&) = delete;
  PatientCaller& operator=(const PatientCaller&) = delete;
  // Ends the thread, or abandons it if it is stuck.
  ~PatientCaller();

  template <typename T>
  struct Outcome {
    std::optional<T> value;  // empty: still running after `patience`
    StuckCall stuck;         // then this reports its return
  };

  // `stop` ends the wait at once.
  template <typename T>
  Outcome<T> call(std::function<T()> work, std::chrono::milliseconds patience,
                  const std::stop_token& stop = {}) {
    auto result = std::make_shared<std::optional<T>>();
    auto finished = std::make_shared<std::atomic<bool>>(false);
    const bool in_time = run(
        [work = std::move(work), result, finished] {
          *result = work();
          finished->store(true);
        },
        patience, stop);
    // The thread may still write to *result, so leave it alone.
    if (!in_time) return {std::nullopt, StuckCall(finished)};
    return {std::move(*result), StuckCall()};
  }

 private:
  struct Shared;  // shared with the thread

  bool run(std::function<void()> work, std::chrono::milliseconds patience,
           const std::stop_token& stop);
  static void run_calls(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;  // joined by the destructor unless a call is stuck on it
};

}  // namespace tranche::os
