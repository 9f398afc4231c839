// SPDX-License-Identifier: Apache-2.0
#include "node/driver/fallback_source.h"

namespace tranche::node {

Status FallbackSource::open() {
  close();
  Status opened = open_preferred();
  if (opened || !lets_nodes_speak(opened.error())) return opened;
  if (!fallback_.open()) return opened;
  open_ = &fallback_;
  return Done{};
}

Status FallbackSource::open_preferred() {
  Status opened = preferred_.open();
  if (opened) {
    open_ = &preferred_;
    was_preferred_ = true;
  }
  return opened;
}

// Only a library that was never there does: one that is there and fails knows
// better than the nodes that something is wrong, and so does one that is away, as
// while a driver is replaced. What it said of sizes and slices is still true, and
// nodes say nothing of either.
bool FallbackSource::lets_nodes_speak(const Error& why) const {
  return why.code == ErrorCode::kNotFound && !was_preferred_;
}

void FallbackSource::close() {
  if (open_ != nullptr) open_->close();
  open_ = nullptr;
}

Result<DriverReading> FallbackSource::read(const ReadRequest& request) {
  if (open_ == nullptr) return Error{ErrorCode::kUnavailable, "the driver is not open"};
  if (open_ == &fallback_) {
    const Status opened = open_preferred();
    if (opened || !lets_nodes_speak(opened.error())) fallback_.close();
    if (!opened && !lets_nodes_speak(opened.error())) {
      open_ = nullptr;
      return opened.error();
    }
  }
  return open_->read(request);
}

Result<std::vector<DriverEvent>> FallbackSource::wait(std::chrono::milliseconds at_most) {
  if (open_ == nullptr) return Error{ErrorCode::kUnavailable, "the driver is not open"};
  return open_->wait(at_most);
}

void FallbackSource::stop_waiting() {
  preferred_.stop_waiting();
  fallback_.stop_waiting();
}

}  // namespace tranche::node
