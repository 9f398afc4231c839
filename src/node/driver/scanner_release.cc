// SPDX-License-Identifier: Apache-2.0
//
// Releases of the driver: requested from any thread, done by the scanning thread, and kept over a
// restart.
#include <utility>

#include "node/driver/release_file.h"
#include "node/driver/scanner.h"
#include "os/files.h"
#include "os/put_aside.h"

namespace tranche::node {

using std::chrono::milliseconds;

std::uint64_t Scanner::release(std::vector<GpuUuid> gpus) {
  const std::lock_guard lock(mutex_);
  requests_.release = std::move(gpus);
  requests_.resume = false;
  is_released_ = true;
  requested_.notify_all();
  return ++asked_;
}

std::uint64_t Scanner::resume() {
  const std::lock_guard lock(mutex_);
  requests_.resume = true;
  requests_.release.reset();
  is_released_ = false;
  requested_.notify_all();
  return ++asked_;
}

bool Scanner::is_released() const {
  const std::lock_guard lock(mutex_);
  return is_released_;
}

std::string Scanner::release_not_kept() const {
  const std::lock_guard lock(mutex_);
  return not_kept_;
}

std::string Scanner::wait_for(std::uint64_t request, milliseconds at_most) {
  std::unique_lock lock(mutex_);
  done_.wait_for(lock, at_most, [&] {
    return are_waits_over_ || (done_until_ >= request && still_open_.empty());
  });
  if (done_until_ < request) return "a driver call of the agent has not returned";
  return still_open_;
}

void Scanner::end_waits() {
  const std::lock_guard lock(mutex_);
  are_waits_over_ = true;
  done_.notify_all();
}

void Scanner::note_done() {
  std::string still_open = state_.driver_released ? source_.still_open() : std::string();
  if (state_.driver_released && still_open.empty() && other_users_) still_open = other_users_();
  if (state_.inventory.still_open != still_open) {
    state_.inventory.still_open = still_open;
    if (still_open.empty()) {
      log_.info("driver closed by release",
                {{"for", released_names(release_ && release_->all ? std::vector<GpuUuid>{}
                                                                  : state_.inventory.released)}});
    }
    publish();
  }
  const std::lock_guard lock(mutex_);
  if (done_until_ == taken_ && still_open_ == still_open) return;
  done_until_ = taken_;
  still_open_ = std::move(still_open);
  done_.notify_all();
}

// True: the driver stays closed.
bool Scanner::recall_release() {
  Result<ReleaseMemory> recalled = read_release(release_file_);
  if (!recalled) {
    if (!path_exists(release_file_)) return false;  // also where there is no state folder
    recalled = unknown_release(recalled.error());
  }
  const Result<std::string> boot_id = kernel_.boot_id();
  if (is_over(*recalled, boot_id ? *boot_id : "")) {
    log_.info("the node was rebooted since the driver was released; the release has ended");
    end_release();
    return false;
  }
  state_ = with_kept_release(std::move(state_), *recalled, follows_kernel_log());
  release_ = *std::move(recalled);
  const std::vector<GpuUuid> named(release_->gpus.begin(), release_->gpus.end());
  log_.warning("the driver stays closed: it was released before this start; run 'resume'",
               {{"for", released_names(release_->all ? std::vector<GpuUuid>{} : named)}});
  const std::lock_guard lock(mutex_);
  is_released_ = true;
  return true;
}

// A GPU may be in a reset: the driver stays closed until a person runs `resume`.
ReleaseMemory Scanner::unknown_release(const Error& why) {
  const Result<std::string> aside = put_aside(release_file_);
  log_.error(
      "cannot read whether the driver is released, so it stays closed and no gpu is healthy; run "
      "'resume' when no gpu is being reset, then delete the file",
      {{"file", aside ? *aside : release_file_}, {"reason", why.message}});
  const Surroundings around = surroundings();
  ReleaseMemory release{.boot_id = around.boot_id, .since = around.now, .all = true};
  // The GPUs are unknown; their MPS daemons and sizes must stay.
  release.inventory.gpus = state_.inventory.gpus;
  release.inventory.driver_trouble =
      "unknown whether it is released, so it stays closed; run 'resume' to open it";
  if (const Status written = write_release(release_file_, release); !written) {
    log_.error("cannot write the release", {{"reason", written.error().message}});
  }
  return release;
}

void Scanner::keep_release(const std::vector<GpuUuid>& gpus) {
  const Surroundings around = surroundings();
  if (!release_) {
    release_ = ReleaseMemory{.boot_id = around.boot_id, .since = around.now};
    release_->inventory = state_.inventory;
  }
  release_ = with_request(*std::move(release_), gpus);
  state_.inventory.released_at = release_->since;
  const Status written = write_release(release_file_, *release_);
  if (!written) {
    log_.error("cannot save the release; a restart of the agent would open the driver",
               {{"reason", written.error().message}});
  }
  const std::lock_guard lock(mutex_);
  not_kept_ = written ? "" : written.error().message;
}

void Scanner::end_release() {
  release_.reset();
  const Status removed = remove_release(release_file_);
  if (!removed) {
    log_.error("cannot remove the release; the next agent would keep the driver closed",
               {{"reason", removed.error().message}});
  }
}

}  // namespace tranche::node
