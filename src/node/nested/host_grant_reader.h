// SPDX-License-Identifier: Apache-2.0
//
// Follows what the host has granted: reads its JSON where that is mounted, else
// /gpu.env, and notices when either changes. What cannot be read or understood
// leaves the last good grant standing.
//
// Not thread-safe: belongs to the thread that polls fd().
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

  // Readable when a look is worth it.
  int fd() const { return watch_.fd(); }
  // A look is due by then, whatever fd() says.
  std::optional<std::chrono::milliseconds> due(Clock::time_point now) const;

  // Reads what is there now. True: grant() or problem() changed.
  bool look(Clock::time_point now);

  // Null: there has not been one yet.
  const HostGrant* grant() const { return grant_ ? &*grant_ : nullptr; }
  // Why grant() is not what it should be; empty: it is.
  const std::string& problem() const { return problem_; }

 private:
  // Another list than the one that counts, as it was found first.
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

// One reading; the reader's own, and for commands that look once. kNotFound:
// there is nothing to read yet.
Result<HostGrant> read_host_grant(const NestedOptions& options);

}  // namespace tranche::node
