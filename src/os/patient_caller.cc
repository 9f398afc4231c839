// SPDX-License-Identifier: Apache-2.0
#include "os/patient_caller.h"

#include <pthread.h>

#include <thread>

namespace tranche::os {
namespace {

// For the end of the process, which must know whether threads are still inside
// a library; nothing else depends on it.
std::atomic<int> left_behind{0};

}  // namespace

int calls_left_behind() { return left_behind.load(); }

struct PatientCaller::Desk {
  std::mutex mutex;
  std::condition_variable_any changed;
  // Guarded by mutex.
  std::function<void()> work;
  bool busy = false;
  bool closed = false;   // the thread ends as soon as it is free
  bool counted = false;  // as left behind
};

PatientCaller::~PatientCaller() {
  if (!desk_) return;
  {
    const std::lock_guard lock(desk_->mutex);
    desk_->closed = true;
    desk_->changed.notify_all();
  }
  thread_.join();
}

bool PatientCaller::run(std::function<void()> work, std::chrono::milliseconds patience,
                        const std::stop_token& stop) {
  if (!desk_) {
    desk_ = std::make_shared<Desk>();
    thread_ = std::thread(run_calls, desk_);
  }
  std::unique_lock lock(desk_->mutex);
  desk_->work = std::move(work);
  desk_->busy = true;
  desk_->changed.notify_all();
  const bool in_time = desk_->changed.wait_for(lock, stop, patience, [&] { return !desk_->busy; });
  if (!in_time) {
    desk_->closed = true;
    desk_->counted = true;
    ++left_behind;
    lock.unlock();
    thread_.detach();
    desk_.reset();  // the next call gets a new thread
  }
  return in_time;
}

void PatientCaller::run_calls(const std::shared_ptr<Desk>& desk) {
  // For people who look at what a process does; at most 15 letters.
  ::pthread_setname_np(::pthread_self(), kPatientThread);
  std::unique_lock lock(desk->mutex);
  while (true) {
    desk->changed.wait(lock, [&] { return desk->busy || desk->closed; });
    if (!desk->busy) return;
    const std::function<void()> work = std::move(desk->work);
    lock.unlock();
    work();
    lock.lock();
    desk->busy = false;
    if (desk->counted) --left_behind;
    desk->changed.notify_all();
    if (desk->closed) return;
  }
}

}  // namespace tranche::os
