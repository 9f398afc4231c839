// SPDX-License-Identifier: Apache-2.0
//
// PatientCaller makes calls that may never return, and is still there
// afterwards. A driver call can block for ever when a card falls off the bus;
// such a call keeps its thread, which is left behind and replaced.
//
// Not thread-safe: one thread calls. The work runs on another thread and, when
// it is left behind, outlives the caller: it must own what it touches.
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

// What the threads that calls are made on are called.
inline constexpr const char* kPatientThread = "patient-caller";

// Tells whether a call that was left behind has come back after all.
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

// How many calls of this process have been left behind and not come back.
int calls_left_behind();

class PatientCaller {
 public:
  PatientCaller() = default;
  PatientCaller(const PatientCaller&) = delete;
  PatientCaller& operator=(const PatientCaller&) = delete;
  // Ends the thread, or leaves it behind where it is stuck.
  ~PatientCaller();

  template <typename T>
  struct Outcome {
    std::optional<T> value;  // empty: still running when patience was over
    StuckCall stuck;         // then this tells when it comes back
  };

  // With `stop` patience is over at once.
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
    // Not in time: the thread may still write to *result, so it is not ours.
    if (!in_time) return {std::nullopt, StuckCall(finished)};
    return {std::move(*result), StuckCall()};
  }

 private:
  struct Desk;  // shared with the thread

  bool run(std::function<void()> work, std::chrono::milliseconds patience,
           const std::stop_token& stop);
  static void run_calls(const std::shared_ptr<Desk>& desk);

  std::shared_ptr<Desk> desk_;
  std::thread thread_;  // joined in the end, but where a call is stuck on it
};

}  // namespace tranche::os
