// SPDX-License-Identifier: Apache-2.0
#include "node/driver/fallback_source.h"

namespace tranche::node {

Status FallbackSource::open() {
  close();
  Status opened = open_preferred();
  if (opened || !may_fall_back(opened.error())) return opened;
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

// Use device nodes only if the library was never present. A failing or temporarily missing one is
// an error; its last sizes stay valid.
bool FallbackSource::may_fall_back(const Error& why) const {
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
    if (opened || !may_fall_back(opened.error())) fallback_.close();
    if (!opened && !may_fall_back(opened.error())) {
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
