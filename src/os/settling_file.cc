// SPDX-License-Identifier: Apache-2.0
#include "os/settling_file.h"

namespace tranche::os {

void SettlingFile::take_event(FileEvent event) {
  switch (event) {
    case FileEvent::kReplaced:
      is_replaced_ = true;
      is_written_ = false;  // the writer has the previous file open
      return;
    case FileEvent::kModified:
      is_replaced_ = false;
      is_written_ = true;
      return;
    case FileEvent::kClosed: is_written_ = false; return;
  }
}

bool SettlingFile::is_complete(const Wait& wait, Clock::time_point now) const {
  if (insists_) return true;
  if (is_written_) return false;
  if (is_replaced_ && wait.look.is_there) return true;
  return now - wait.since >= kSettled;
}

bool SettlingFile::takes(const FileLook& look, Clock::time_point now) {
  if (look == taken_ && !insists_) {
    waits_.reset();
    is_replaced_ = false;
    return false;
  }
  if (!waits_) waits_ = Wait{look, now, now};
  if (waits_->look != look) {
    waits_->look = look;
    waits_->since = now;
  }
  if (!is_complete(*waits_, now)) return false;
  const bool is_news = insists_ || look.content != taken_.content ||
                       look.problem != taken_.problem || look.is_there != taken_.is_there ||
                       look.is_regular != taken_.is_regular;
  taken_ = look;
  waits_.reset();
  is_replaced_ = false;
  insists_ = false;
  return is_news;
}

std::optional<SettlingFile::Clock::time_point> SettlingFile::next_look() const {
  if (!waits_) return std::nullopt;
  if (!is_written_) return waits_->since + kSettled;
  if (waits_->is_reported) return std::nullopt;
  return waits_->begun + kLongWrite;
}

bool SettlingFile::waits_long_for_writer(Clock::time_point now) {
  if (!waits_ || !is_written_ || waits_->is_reported || now - waits_->begun < kLongWrite) {
    return false;
  }
  waits_->is_reported = true;
  return true;
}

}  // namespace tranche::os
