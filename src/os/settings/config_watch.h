// SPDX-License-Identifier: Apache-2.0
//
// Watches a configuration file and returns its content when it has changed and the change is
// complete, however it was made: written in place, replaced, deleted and created again, or
// through a swapped link, as a ConfigMap does. settling_file.h decides when a change is complete.
//
// Not thread-safe: belongs to the thread that polls fd().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/settling_file.h"
#include "os/unique_fd.h"

namespace tranche::os {

struct ConfigReading {
  Result<std::string> content;
  bool is_regular = true;  // false for /dev/null, which is empty on purpose
};

class ConfigWatch {
 public:
  using Clock = SettlingFile::Clock;

  // `in_force` is the loaded content. An empty path has no content, and changes only by insist().
  ConfigWatch(std::string path, const std::string& in_force);

  const std::string& path() const { return path_; }

  // Readable when take() may have news; -1 where nothing can be watched.
  int fd() const { return inotify_.get(); }
  // Time of the next take() without news. Call it now and then besides that, because not every
  // change can be watched.
  std::optional<Clock::time_point> due() const { return file_.next_look(); }

  // The file, if it is complete and differs from the last one returned.
  std::optional<ConfigReading> take(Clock::time_point now = Clock::now());

  // The next take() returns the file as it is, changed and complete or not.
  void insist() { file_.insist(), insists_ = true; }

  // True once for each change that waits long for a writer.
  bool waits_long_for_writer(Clock::time_point now) { return file_.waits_long_for_writer(now); }

 private:
  // Whether the kernel reported anything since the last call.
  bool take_events();
  void take_event(int watch, std::uint32_t mask, const std::string& name);
  void watch_again();
  bool is_as_before() const;
  bool is_on_the_way(const std::string& name) const;
  FileLook look() const;

  const std::string path_;
  const std::string folder_;
  const std::string name_;
  UniqueFd inotify_;
  int folder_watch_ = -1;
  int file_watch_ = -1;
  SettlingFile file_;
  FileLook last_;
  bool insists_ = false;
};

}  // namespace tranche::os
