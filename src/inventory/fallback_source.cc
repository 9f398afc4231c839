// SPDX-License-Identifier: Apache-2.0
#include "inventory/fallback_source.h"

namespace tranche {
namespace {

// How often, in readings, the preferred source is tried again.
constexpr unsigned kReadsBetweenLooks = 6;

}  // namespace

Status FallbackSource::open() {
  close();
  reads_since_look_ = 0;
  Status opened = preferred_.open();
  if (opened) {
    open_ = &preferred_;
    return opened;
  }
  // Only a library that is not there lets the nodes speak: one that is there
  // and fails knows better than they do that something is wrong.
  if (opened.error().code != ErrorCode::kNotFound) return opened;
  if (!fallback_.open()) return opened;
  open_ = &fallback_;
  return Done{};
}

void FallbackSource::close() {
  if (open_ != nullptr) open_->close();
  open_ = nullptr;
}

Result<DriverReading> FallbackSource::read(const ReadWish& wish) {
  if (open_ == nullptr) return Error{ErrorCode::kUnavailable, "the driver is not open"};
  if (open_ == &fallback_ && ++reads_since_look_ >= kReadsBetweenLooks) {
    reads_since_look_ = 0;
    if (preferred_.open()) {
      fallback_.close();
      open_ = &preferred_;
    }
  }
  return open_->read(wish);
}

Result<std::vector<DriverEvent>> FallbackSource::wait(std::chrono::milliseconds at_most) {
  if (open_ == nullptr) return Error{ErrorCode::kUnavailable, "the driver is not open"};
  return open_->wait(at_most);
}

}  // namespace tranche
