// SPDX-License-Identifier: Apache-2.0
#include "os/patient_caller.h"

#include <pthread.h>

#include <thread>

namespace tranche::os {
namespace {

// At exit the process must know whether threads are still inside a library; nothing else depends
// on it.
std::atomic<int> left_behind{0};

}  // namespace

int calls_left_behind() { return left_behind.load(); }

struct PatientCaller::Shared {
  std::mutex mutex;
  std::condition_variable_any changed;
  // Guarded by mutex.
  std::function<void()> work;
  bool busy = false;
  bool closed = false;   // the thread ends as soon as it is free
  bool counted = false;  // as left behind
};

PatientCaller::~PatientCaller() {
  if (!shared_) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    shared_->changed.notify_all();
  }
  thread_.join();
}

bool PatientCaller::run(std::function<void()> work, std::chrono::milliseconds patience,
                        const std::stop_token& stop) {
  if (!shared_) {
    shared_ = std::make_shared<Shared>();
    thread_ = std::thread(run_calls, shared_);
  }
  std::unique_lock lock(shared_->mutex);
  shared_->work = std::move(work);
  shared_->busy = true;
  shared_->changed.notify_all();
  const bool in_time =
      shared_->changed.wait_for(lock, stop, patience, [&] { return !shared_->busy; });
  if (!in_time) {
    shared_->closed = true;
    shared_->counted = true;
    ++left_behind;
    lock.unlock();
    thread_.detach();
    shared_.reset();  // the next call gets a new thread
  }
  return in_time;
}

void PatientCaller::run_calls(const std::shared_ptr<Shared>& shared) {
  // Shown in process listings; at most 15 characters.
  ::pthread_setname_np(::pthread_self(), kPatientThread);
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->busy || shared->closed; });
    if (!shared->busy) return;
    const std::function<void()> work = std::move(shared->work);
    lock.unlock();
    work();
    lock.lock();
    shared->busy = false;
    if (shared->counted) --left_behind;
    shared->changed.notify_all();
    if (shared->closed) return;
  }
}

}  // namespace tranche::os
