// SPDX-License-Identifier: Apache-2.0
//
// Decides when a file that others write is complete enough to be read. A file
// that was put in place in one step (renamed, or behind a link that was swapped)
// is complete at once. One that is written in place is complete when no writer
// is at it and two looks some time apart found the same. Pure: the caller brings
// what it saw, and the time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "os/file_identity.h"

namespace tranche::os {

// A file as one look found it.
struct FileLook {
  bool is_there = false;
  bool is_regular = false;  // and not /dev/null, say
  FileIdentity identity;
  std::string content;
  std::string problem;  // why it could not be read; empty: it could

  bool operator==(const FileLook&) const = default;
};

// What the kernel said of the file since the last look.
enum class FileSign {
  kReplaced,  // put in place in one step
  kModified,  // written to
  kClosed,    // a writer closed it
};

class SettlingFile {
 public:
  using Clock = std::chrono::steady_clock;

  // How long a file that was written in place must stay as it is.
  static constexpr std::chrono::milliseconds kSettled{500};
  // When a writer that does not close the file is worth a warning.
  static constexpr std::chrono::seconds kLongWrite{30};

  // `first` is the file as it is in force.
  explicit SettlingFile(FileLook first) : taken_(std::move(first)) {}

  void take_sign(FileSign sign);
  // At the next look the file counts as complete and as changed.
  void insist() { insists_ = true; }

  // Whether this look found a complete file that is another than the last one
  // that was taken; it is the one taken then.
  bool takes(const FileLook& look, Clock::time_point now);

  // When to look again although nothing was heard; empty: at leisure.
  std::optional<Clock::time_point> next_look() const;

  // Since when a change waits for a writer to close the file, if that is long:
  // true once for each such wait.
  bool waits_long_for_writer(Clock::time_point now);

 private:
  struct Wait {
    FileLook look;
    Clock::time_point since;   // when this look was first had
    Clock::time_point begun;   // when the first of a row of differing looks was had
    bool is_reported = false;  // as long
  };

  bool is_complete(const Wait& wait, Clock::time_point now) const;

  FileLook taken_;
  std::optional<Wait> waits_;
  bool is_replaced_ = false;
  bool is_written_ = false;  // modified, and not closed since
  bool insists_ = false;
};

}  // namespace tranche::os
