// SPDX-License-Identifier: Apache-2.0
//
// Follows the host's grant: reads its JSON if mounted, else /gpu.env, and notices changes. If it
// cannot be read or parsed, the last good grant stays.
//
// Not thread-safe: used by the thread that polls fd().
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/nested/host_grant.h"
#include "core/settings/nested_options.h"
#include "os/paths_watch.h"

namespace tranche::node {

class HostGrantReader {
 public:
  using Clock = std::chrono::steady_clock;

  HostGrantReader(NestedOptions options, Clock::time_point now);

  // Readable when look() may find a change.
  int fd() const { return watch_.fd(); }
  // Time until look() is due even if fd() is not readable.
  std::optional<std::chrono::milliseconds> due(Clock::time_point now) const;

  // Reads the grant. True: grant() or problem() changed.
  bool look(Clock::time_point now);

  // Null: none so far.
  const HostGrant* grant() const { return grant_ ? &*grant_ : nullptr; }
  // Why grant() may be outdated; empty: it is current.
  const std::string& problem() const { return problem_; }

 private:
  // A changed list that does not count yet.
  struct Unsettled {
    GpuEnv list;
    Clock::time_point until;
  };

  void watch_all();
  bool is_settled(const HostGrant& found, Clock::time_point now);

  const NestedOptions options_;
  PathsWatch watch_;
  bool is_watched_ = false;
  std::optional<HostGrant> grant_;
  std::string problem_;
  std::optional<Unsettled> unsettled_;
};

// One reading, also for commands. kNotFound: there is nothing to read yet.
Result<HostGrant> read_host_grant(const NestedOptions& options);

}  // namespace tranche::node
