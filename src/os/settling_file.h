// SPDX-License-Identifier: Apache-2.0
//
// Decides when a file that others write is complete enough to read. A file put in place in one
// step (renamed, or behind a swapped link) is complete at once. A file written in place is
// complete when no writer has it open and two looks some time apart found the same. Pure: the
// caller passes what it saw and the time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "os/file_identity.h"

namespace tranche::os {

// The file at one look.
struct FileLook {
  bool is_there = false;
  bool is_regular = false;  // false for /dev/null
  FileIdentity identity;
  std::string content;
  std::string problem;  // why it could not be read; empty if it was

  bool operator==(const FileLook&) const = default;
};

// The kernel's report about the file since the last look.
enum class FileEvent {
  kReplaced,  // put in place in one step
  kModified,  // written to
  kClosed,    // a writer closed it
};

class SettlingFile {
 public:
  using Clock = std::chrono::steady_clock;

  // A file written in place must stay unchanged for this long.
  static constexpr std::chrono::milliseconds kSettled{500};
  // A writer that keeps the file open for this long is worth a warning.
  static constexpr std::chrono::seconds kLongWrite{30};

  // `first` is the file in effect.
  explicit SettlingFile(FileLook first) : taken_(std::move(first)) {}

  void take_event(FileEvent event);
  // The next look counts as complete and changed.
  void insist() { insists_ = true; }

  // Whether this look found a complete file that differs from the last one taken; then it is
  // taken.
  bool takes(const FileLook& look, Clock::time_point now);

  // Time of the next look without news; empty: no deadline.
  std::optional<Clock::time_point> next_look() const;

  // True once for each change that waits longer than kLongWrite for a writer to close the file.
  bool waits_long_for_writer(Clock::time_point now);

 private:
  struct Wait {
    FileLook look;
    Clock::time_point since;   // first time of this look
    Clock::time_point begun;   // first of a series of differing looks
    bool is_reported = false;  // as a long wait
  };

  bool is_complete(const Wait& wait, Clock::time_point now) const;

  FileLook taken_;
  std::optional<Wait> waits_;
  bool is_replaced_ = false;
  bool is_written_ = false;  // modified, and not closed since
  bool insists_ = false;
};

}  // namespace tranche::os
